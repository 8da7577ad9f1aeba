"""What every test of the applet begins with."""

import json
import unittest

from desktop import Applet, until
from hands import Hands

SCRIPT = "tick_ms = 100\nbackoff_ms = 1000\n"


class Case(unittest.TestCase):
    """One applet for each class; all of them on one desktop."""

    script = SCRIPT
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.file = cls.desktop.directory / f"{cls.__name__}.toml"
        cls.play(cls.script)
        script = ["--demo-script", str(cls.file), "--demo-speed", "10"]
        cls.applet = Applet(cls.desktop, *script, *cls.arguments)
        cls.applet.focus()
        cls.hands = Hands(cls.desktop, cls.applet.process.pid)

    @classmethod
    def tearDownClass(cls):
        cls.applet.end()

    @classmethod
    def play(cls, script):
        """Another kernel from now on."""
        new = cls.file.with_suffix(".next")
        new.write_text(script)
        new.rename(cls.file)

    def ask(self, *arguments):
        """What the daemon says, through the command line."""
        return json.loads(self.applet.pandemonium(*arguments, "--json"))

    def status(self):
        """What the daemon says."""
        return self.ask("status")

    def until_mode(self, mode):
        """Waits until the daemon wants this mode."""
        until(f"mode {mode}", lambda: self.status()["requested_mode"] == mode)

    def until_shown(self, text):
        """Waits until the window says this."""
        seen = []

        def probe():
            seen.clear()
            for name in (found.name for found in self.hands.all()):
                seen.append(name)
                if text in name:
                    return True
            return False

        try:
            until(f"{text} shows", probe)
        except AssertionError as error:
            raise AssertionError(f"{error}; instead: {[name for name in seen if name]}") from None

    def assert_named(self):
        """Every control that shows has a name."""
        controls = self.hands.controls()
        nameless = [(seen.role, seen.node.get_description()) for seen in controls if not seen.name]
        self.assertEqual(nameless, [])
        self.assertGreater(len(controls), 3)

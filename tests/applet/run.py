#!/usr/bin/env python3
"""The applet on a desktop without a screen, driven as assistive technology drives it, beside the real daemon with a
scripted kernel."""

import json
import sys
import unittest

from desktop import Applet, Desktop, until
from hands import Hands

SCRIPT = "tick_ms = 100\nbackoff_ms = 1000\n"


class Case(unittest.TestCase):
    """One applet for each class; all of them on one desktop."""

    script = SCRIPT

    @classmethod
    def setUpClass(cls):
        cls.file = DESKTOP.directory / f"{cls.__name__}.toml"
        cls.play(cls.script)
        cls.applet = Applet(DESKTOP, "--demo-script", str(cls.file), "--demo-speed", "10")
        cls.applet.window()
        cls.hands = Hands(DESKTOP, cls.applet.process.pid)

    @classmethod
    def tearDownClass(cls):
        cls.applet.end()

    @classmethod
    def play(cls, script):
        """Another kernel from now on."""
        new = cls.file.with_suffix(".next")
        new.write_text(script)
        new.rename(cls.file)

    def status(self):
        """What the daemon says."""
        return json.loads(self.applet.pandemonium("status", "--json"))

    def until_mode(self, mode):
        """Waits until the daemon wants this mode."""
        until(f"mode {mode}", lambda: self.status()["requested_mode"] == mode)

    def until_shown(self, text):
        """Waits until the window says this."""
        seen = []

        def probe():
            seen[:] = self.hands.names()
            return any(text in name for name in seen)

        try:
            until(f"{text} shows", probe)
        except AssertionError as error:
            raise AssertionError(f"{error}; instead: {[name for name in seen if name]}") from None


class Modes(Case):
    def test_off_takes_effect_at_once_and_another_mode_is_kept_or_goes_back(self):
        self.until_shown("Your system is tuned")
        self.hands.press("Off", "radio button")
        self.until_mode("off")
        self.until_shown("Switched off")
        self.hands.press("Fixed", "radio button")
        self.until_mode("bpf")
        self.hands.press("Go Back")
        self.until_mode("off")
        until("off is chosen again", lambda: self.hands.is_checked("Off"))
        self.hands.press("Fixed", "radio button")
        self.hands.press("Keep")
        until("nothing waits", lambda: "Keep" not in self.hands.names())
        self.assertEqual(self.status()["requested_mode"], "bpf")
        self.hands.press("Adaptive", "radio button")
        self.hands.press("Keep")
        self.until_mode("adaptive")

    def test_a_mode_that_somebody_else_chose_is_shown(self):
        self.applet.pandemonium("mode", "bpf")
        until("it is shown", lambda: self.hands.is_checked("Fixed"))
        self.applet.pandemonium("mode", "adaptive")
        until("it is shown", lambda: self.hands.is_checked("Adaptive"))

    def test_every_control_has_a_name(self):
        self.until_shown("PANDEMONIUM")
        nameless = [seen.role for seen in self.hands.controls() if not seen.name]
        self.assertEqual(nameless, [])
        self.assertGreater(len(self.hands.controls()), 3)


class Troubles(Case):
    def test_each_trouble_is_told_with_one_button_that_helps(self):
        self.until_shown("Your system is tuned")
        exit_step = '[[step]]\nexit = { kind = "sysrq", reason = "disabled by sysrq-S" }\n'
        self.play(SCRIPT + exit_step)
        self.until_shown("disabled by sysrq-S")
        self.hands.press("Try Now")
        self.until_shown("Your system is tuned")
        self.play(SCRIPT + 'foreign = "scx_other"\n' + exit_step)
        self.until_shown("Another scheduler is loaded: scx_other.")


class Unsupported(Case):
    script = SCRIPT + "unsupported = true\n"

    def test_a_kernel_without_sched_ext_is_explained_at_the_press_of_a_button(self):
        self.until_shown("This kernel cannot load a scheduler.")
        self.hands.press("Why?")
        self.until_shown("/sys/kernel/sched_ext is missing")
        self.hands.press("Close")


if __name__ == "__main__":
    with Desktop() as DESKTOP:
        program = unittest.main(exit=False, verbosity=2)
    sys.exit(not program.result.wasSuccessful())

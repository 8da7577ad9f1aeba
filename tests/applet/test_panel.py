"""What the preferences say of the icon in the panel, and the switch that brings it with every session."""

from case import Case
from desktop import until
from hands import Hands
from machine import Bus, Installed, Machine, Panel


class InPanel(Case):
    @classmethod
    def setUpClass(cls):
        cls.machine = Machine(cls.desktop)
        session = Bus.of(cls.desktop)
        cls.panel = Panel(cls.desktop, session)
        cls.applet = Installed(cls.desktop, cls.machine, session, "--page", "preferences")
        cls.applet.focus()
        cls.hands = Hands(cls.desktop, cls.applet.process.pid)
        cls.file = cls.desktop.directory / ".config/autostart/org.pandemonium.Applet.desktop"

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.machine.stop()

    def test_1_it_is_said_whether_a_panel_shows_the_icon(self):
        for _ in range(2):
            self.until_shown("No panel here shows one")
            self.panel.start()
            self.until_shown("When the window is closed, the icon stays.")
            self.panel.stop()

    def test_2_the_switch_decides_whether_it_comes_with_the_session(self):
        self.hands.press("Start with the Session")
        until("it comes", self.file.exists)
        until("the switch is on", lambda: self.hands.is_checked("Start with the Session"))
        self.assertIn("--hidden", self.file.read_text())
        self.hands.press("Start with the Session")
        until("it does not", lambda: not self.file.exists())
        self.file.parent.rmdir()
        self.file.parent.write_text("in its way")
        self.hands.press("Start with the Session")
        self.until_shown("Not done: ")
        self.assertFalse(self.hands.is_checked("Start with the Session"))
        # The switch in the row moves by itself.
        self.hands.act("Start with the Session")
        until("the switch is back", lambda: not self.hands.is_checked("Start with the Session"))
        self.file.parent.unlink()
        self.hands.act("Start with the Session")
        until("it comes", self.file.exists)
        self.hands.act("Start with the Session")
        until("it does not", lambda: not self.file.exists())

    def test_3_it_needs_no_daemon(self):
        self.machine.kill_daemon()
        self.until_shown("The PANDEMONIUM service is not running.")
        self.hands.press("Start with the Session")
        until("it comes", self.file.exists)
        # Two clicks at once may be one double click.
        until("the switch is on", lambda: self.hands.is_checked("Start with the Session"))
        self.hands.press("Start with the Session")
        until("it does not", lambda: not self.file.exists())
        self.machine.start_daemon()

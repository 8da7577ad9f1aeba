"""More programs than the daemon keeps, one that changes while nobody looks, and one that says no."""

import subprocess
import sys
import unittest
from pathlib import Path

from desktop import TARGET, Applet, until
from hands import Hands

COUNT = 10_000


class Crowd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = Path(__file__).with_name("crowd.py")
        cls.daemon = cls.desktop.run(sys.executable, "-B", program, str(COUNT), stdout=subprocess.PIPE)
        assert cls.daemon.stdout.readline(), "there is no daemon"
        address = cls.desktop.environment["DBUS_SESSION_BUS_ADDRESS"]
        cls.beside = {"DBUS_SYSTEM_BUS_ADDRESS": address}
        cls.applet = Applet.beside(cls.desktop, "--page", "processes", **cls.beside)
        cls.applet.focus()
        cls.hands = Hands(cls.desktop, cls.applet.process.pid)

    @classmethod
    def tearDownClass(cls):
        cls.applet.end()
        cls.daemon.terminate()
        cls.daemon.wait()

    def tell(self, method, *arguments):
        """Has the daemon do something, or say something."""
        said = self.desktop.say(
            "gdbus", "call", "--session", "--dest", "org.pandemonium.Scheduler1", "--object-path",
            "/org/pandemonium/Scheduler1", "--method", f"org.pandemonium.Test.{method}", *arguments,
        )
        return said.strip("(),").removeprefix("uint32 ")

    def listed(self):
        return [seen.name.split(",")[0] for seen in self.hands.rows()]

    def until_first(self, name):
        until(f"{name} comes first", lambda: self.listed()[:1] == [name])

    def test_1_only_what_can_be_seen_has_widgets(self):
        self.until_first("program-00000")
        rows = self.hands.rows()
        self.assertLess(len(rows), 300, "a widget for each program")
        self.hands.until_focused("program-00000", "Tab")
        self.hands.keys("End")
        until("the last is there", lambda: f"program-{COUNT - 1:05}" in self.listed())
        self.hands.click("Wake-Ups", "label")
        self.hands.keys("Home")
        self.until_first("program-00000")
        self.hands.click("Name", "label")
        self.hands.click("Search programs", "entry")
        self.hands.type("program-077")
        until("a hundred are left", lambda: "program-07700" in self.listed())
        self.hands.keys("ctrl+a", "BackSpace")
        self.until_first("program-00000")

    def test_2_the_list_follows_while_it_is_seen_and_only_then(self):
        before = int(self.tell("Lists"))
        self.tell("Change")
        until("it is fetched anew", lambda: int(self.tell("Lists")) > before)
        until("no more is asked", self.is_quiet)
        self.hands.keys("alt+1")
        until("the overview shows", lambda: "Your system is tuned" in self.hands.names())
        before = int(self.tell("Lists"))
        for _ in range(3):
            self.tell("Change")
        # Whatever the applet heard by now, it has acted on: it answers this after it.
        self.hands.names()
        self.assertEqual(int(self.tell("Lists")), before)
        self.hands.keys("alt+2")
        until("it is fetched anew", lambda: int(self.tell("Lists")) > before)
        until("no more is asked", self.is_quiet)

    def is_quiet(self):
        before = self.tell("Lists")
        self.hands.names()
        return self.tell("Lists") == before

    def test_3_a_refusal_is_said_in_passing_and_the_row_goes_back(self):
        self.until_first("program-00000")
        self.hands.click_on(self.hands.row("program-00000"))
        self.hands.choose("Tier", 2)
        until("it is said", lambda: any("no permission" in name for name in self.hands.names()))
        until("it is back", lambda: any("As it behaves" in name for name in self.hands.names()))
        # The first may close the list alone.
        until("the dialog is closed", lambda: "Why" not in self.hands.names() or self.hands.keys("Escape"))

    def test_4_a_refused_export_leaves_an_earlier_one_as_it_is(self):
        self.until_first("program-00000")
        file = self.desktop.directory / "earlier.toml"
        file.write_text("earlier")
        self.hands.choose_in_menu("More", "Export…")
        self.hands.save_as("Export Profiles", file, "Replace")
        until("it is said", lambda: any("no permission" in name for name in self.hands.names()))
        self.assertEqual(file.read_text(), "earlier")
        self.assertEqual([other.name for other in file.parent.glob(".tmp*")], [])

    def test_5_who_may_not_see_the_list_is_not_asked_again_and_again(self):
        self.tell("Inspect", "false")
        before = int(self.tell("Lists"))
        self.tell("Change")
        until("it is said", lambda: "Not Allowed" in self.hands.names())
        self.assertEqual(int(self.tell("Lists")), before + 1)
        self.tell("Change")
        self.hands.names()
        self.assertEqual(int(self.tell("Lists")), before + 1)
        self.tell("Inspect", "true")
        self.hands.press("Try Again")
        self.until_first("program-00000")

    def test_6_a_list_that_fails_leaves_the_last_one_and_says_why(self):
        self.until_first("program-00000")
        self.tell("Fail", "true")
        self.tell("Change")
        until("it is said", lambda: any("no <memory>" in name for name in self.hands.names()))
        self.assertEqual(self.listed()[:1], ["program-00000"])
        # Whoever comes to a list that fails has nothing to look at, and can ask once more.
        self.applet.end()
        type(self).applet = Applet.beside(self.desktop, "--page", "processes", **self.beside)
        self.applet.focus()
        type(self).hands = Hands(self.desktop, self.applet.process.pid)
        until("it says why", lambda: any("no <memory>" in name for name in self.hands.names()))
        self.tell("Fail", "false")
        self.hands.press("Try Again")
        self.until_first("program-00000")

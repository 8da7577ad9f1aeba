"""The page of programs."""

import json

from case import SCRIPT, Case
from desktop import until

EVIL = "evil\\u{1b}[2J"
PROGRAMS = [
    ("kwin_wayland", "lat_critical", 300), ("firefox", "interactive", 900), ("rustc", "batch", 48000),
    ("evil\\u001b[2J", "batch", 10),
]
OBSERVED = "".join(
    f'[[step.observe]]\ncomm = "{comm}"\ntier = "{tier}"\navg_us = {run}\n' for comm, tier, run in PROGRAMS
)
# Each is seen eight times, and nothing more happens.
LEARNED = SCRIPT + 8 * f"[[step]]\n{OBSERVED}" + "[[step]]\nidle_permille = 900\n"


class Processes(Case):
    script = LEARNED
    arguments = ("--page", "processes")

    def setUp(self):
        until("all are learned", lambda: len(self.ask("profiles", "list")) == len(PROGRAMS))
        self.until_names({EVIL, "firefox", "kwin_wayland", "rustc"})

    def tearDown(self):
        self.hands.keys("Escape")
        for name, _, _ in PROGRAMS:
            self.applet.pandemonium("profiles", "unpin", name)
        self.play(self.script)

    def listed(self):
        """The programs in the list, from above."""
        return [seen.name.split(",")[0] for seen in self.hands.rows()]

    def until_names(self, names):
        """Waits until the list has these: in this order, or in any if they are a set."""
        until(f"the list is {names}, not {self.listed()}", lambda: type(names)(self.listed()) == names)

    def profile(self, name):
        """What the daemon knows of a program; nothing if it knows none."""
        shown = self.applet.pandemonium("profiles", "show", name, "--json")
        return json.loads(shown) if shown else None

    def open(self, name):
        """Opens the dialog of a program."""
        self.hands.click_on(self.hands.row(name))
        self.until_shown("What Was Learned")

    def test_programs_are_found_and_sorted_and_their_names_are_harmless(self):
        self.until_names([EVIL, "firefox", "kwin_wayland", "rustc"])
        self.hands.click("Average Run", "label")
        self.until_names([EVIL, "kwin_wayland", "firefox", "rustc"])
        self.hands.click("Average Run", "label")
        self.until_names(["rustc", "firefox", "kwin_wayland", EVIL])
        self.hands.click("Tier", "label")
        # Those of one tier stay as they were.
        self.until_names(["rustc", EVIL, "firefox", "kwin_wayland"])
        self.hands.click("Name", "label")
        self.hands.click("Search programs", "entry")
        self.hands.type("FIRE")
        self.until_names(["firefox"])
        self.hands.type("x")
        self.until_shown("No Programs Found")
        self.hands.keys("ctrl+a", "BackSpace")
        self.until_names([EVIL, "firefox", "kwin_wayland", "rustc"])

    def test_the_keyboard_alone_finds_a_program_and_pins_it(self):
        self.hands.until_focused("Search programs", "Tab")
        self.hands.type("firefox")
        self.until_names(["firefox"])
        self.hands.until_focused("firefox, Interactive", "Tab")
        self.hands.keys("Return")
        self.until_shown("What Was Learned")
        self.hands.until_focused("Tier", "Tab")
        self.hands.keys("Return")
        self.hands.until_open("list item")
        self.hands.keys("Home", "Down", "Return")
        until("it is pinned", lambda: self.profile("firefox")["pinned"])
        self.assertEqual(self.profile("firefox")["tier"], "lat_critical")
        self.until_shown("It is pinned to “Screen and sound”, whatever it does. Left alone, it would be “Interactive”.")
        self.hands.keys("Escape")
        self.until_shown("firefox, Screen and sound, pinned")
        self.hands.click("Search programs", "entry")
        self.hands.keys("ctrl+a", "BackSpace")

    def test_a_pin_can_be_taken_back_and_a_program_be_forgotten(self):
        self.open("rustc")
        self.until_shown("It was “In the background” 8 of the last 8 times")
        self.hands.choose("Tier", 2)
        until("it is pinned", lambda: self.profile("rustc")["pinned"])
        self.assertEqual(self.profile("rustc")["tier"], "interactive")
        self.hands.choose("Tier", 0)
        until("it is not", lambda: not self.profile("rustc")["pinned"])
        self.hands.press("Forget What Was Learned…")
        self.hands.press("Cancel")
        self.assertIsNotNone(self.profile("rustc"))
        self.hands.press("Forget What Was Learned…")
        self.hands.press("Forget")
        until("it is forgotten", lambda: self.profile("rustc") is None)
        self.until_names([EVIL, "firefox", "kwin_wayland"])

    def test_a_program_that_was_never_seen_can_be_pinned_and_all_be_forgotten(self):
        self.hands.choose_in_menu("More", "Pin a Program…")
        self.until_shown("Pin a Program")
        self.hands.type("mygame")
        self.hands.until_focused("Tier", "Tab")
        self.hands.keys("Return")
        self.hands.until_open("list item")
        self.hands.keys("Home", "Down", "Return")
        self.hands.press("Pin")
        until("it is pinned", lambda: self.profile("mygame") and self.profile("mygame")["pinned"])
        self.assertEqual(self.profile("mygame")["tier"], "interactive")
        self.until_shown("mygame, Interactive, pinned")
        self.hands.choose_in_menu("More", "Forget All…")
        self.hands.press("Forget All")
        until("the pin alone is left", lambda: [row["name"] for row in self.ask("profiles", "list")] == ["mygame"])
        self.until_shown("4 programs forgotten")
        self.until_names(["mygame"])
        self.applet.pandemonium("profiles", "unpin", "mygame")
        self.until_shown("Nothing Learned Yet")

    def test_only_programs_of_a_kind_are_shown(self):
        self.hands.choose("All programs", 1)
        self.until_names(["kwin_wayland"])
        self.hands.choose("Screen and sound", 4)
        self.until_shown("No Programs Found")
        self.hands.choose("Pinned", 0)
        self.until_names([EVIL, "firefox", "kwin_wayland", "rustc"])

    def test_every_control_has_a_name(self):
        self.assert_named()
        self.open("firefox")
        self.assert_named()


class Nothing(Case):
    arguments = ("--page", "processes")

    def test_an_empty_list_says_why(self):
        self.until_shown("Nothing Learned Yet")
        self.assert_named()

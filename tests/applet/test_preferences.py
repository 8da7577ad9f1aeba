"""The page of preferences."""

import os
import signal
import subprocess

from case import Case
from desktop import TARGET, until
from test_processes import LEARNED


class Preferences(Case):
    script = LEARNED + "\n"
    arguments = ("--page", "preferences")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # So that every row can be clicked.
        cls.applet.resize(900, 1700)

    def until_said(self, expected, *arguments):
        """Waits until the daemon says this."""
        until(f"{arguments} says {expected}", lambda: self.ask(*arguments) == expected)

    def domain(self):
        return self.ask("domain")["domain"]

    def test_the_mode_at_start_is_one_for_now_too_and_goes_back_unless_it_is_kept(self):
        self.hands.choose("Mode at Start", 1)
        self.hands.press("Go Back")
        until("it is as before", lambda: self.status()["requested_mode"] == "adaptive")
        self.assertEqual(self.status()["boot_mode"], "adaptive")
        self.hands.choose("Mode at Start", 1)
        self.hands.press("Keep")
        until("it is kept", lambda: self.status()["boot_mode"] == "bpf")
        self.hands.choose("Mode at Start", 2)
        until("off needs no question", lambda: self.status()["boot_mode"] == "off")
        self.hands.choose("Mode at Start", 0)
        self.hands.press("Keep")
        until("it is as before", lambda: self.status()["boot_mode"] == "adaptive")

    def test_compositors_are_added_by_name_and_among_programs_and_removed(self):
        self.hands.click("Add by name", "text")
        self.hands.type("a/b")
        self.until_shown("other than /")
        self.hands.keys("ctrl+a")
        self.hands.type("mywm*")
        self.hands.keys("Return")
        until("it is added", lambda: "mywm*" in self.ask("compositor"))
        self.hands.press("Choose…")
        self.hands.click("Search programs", "entry")
        self.hands.type("fire")
        self.hands.until_focused("firefox", "Tab")
        self.hands.keys("Return")
        until("it is added", lambda: "firefox" in self.ask("compositor"))
        self.hands.click("Names in Force", "label")
        self.hands.press("Remove firefox")
        until("it is removed", lambda: "firefox" not in self.ask("compositor"))
        self.assertIn("mywm*", self.ask("compositor"))
        self.hands.click("Names in Force", "label")

    def test_cpus_are_chosen_and_what_the_daemon_refuses_can_be_mended(self):
        for index, domain in enumerate(["performance", "powersave", "auto"], 1):
            self.hands.choose("Which CPUs Go First", index)
            until(f"the domain is {domain}", lambda domain=domain: self.domain() == domain)
        self.hands.choose("Which CPUs Go First", 4)
        self.hands.click("CPU mask, such as 0xff", "text")
        self.hands.type("0x3")
        self.hands.keys("Return")
        until("it is the mask", lambda: self.domain() == "0x3")
        self.hands.click("CPU mask, such as 0xff", "text")
        self.hands.keys("ctrl+a")
        self.hands.type("many")
        self.hands.keys("Return")
        self.until_shown("Not done")
        self.assertEqual(self.hands.text("CPU mask, such as 0xff"), "many")
        self.assertEqual(self.domain(), "0x3")
        self.hands.click("CPU mask, such as 0xff", "text")
        self.hands.keys("ctrl+a")
        self.hands.type("0x1")
        self.hands.keys("Return")
        until("it is the mended mask", lambda: self.domain() == "0x1")
        self.hands.choose("Which CPUs Go First", 0)
        until("it is all", lambda: self.domain() == "all")

    def test_the_idle_selector_is_switched(self):
        for is_on in [False, True]:
            self.hands.press("Find Idle CPUs Itself")
            self.until_said({"idle_selector": is_on}, "idle-selector")

    def test_the_power_map_has_a_choice_for_each_situation(self):
        rows = {
            "performance": "Performance Profile", "balanced": "Balanced Profile", "power-saver": "Power Saver Profile",
            "ac": "Plugged In", "battery": "On Battery",
        }
        for key, row in rows.items():
            self.hands.choose(row, 3)
            until(f"{key} is set", lambda key=key: self.ask("power")["map"].get(key) == "powersave")
            self.hands.choose(row, 0)
            until(f"{key} is not set", lambda key=key: key not in self.ask("power")["map"])

    def test_situations_chosen_before_the_daemon_has_answered_are_all_kept(self):
        found = subprocess.run(
            ["pgrep", "--parent", str(self.applet.process.pid), "--exact", "pandemoniumd"],
            text=True, capture_output=True, check=True,
        )
        daemon = int(found.stdout)
        os.kill(daemon, signal.SIGSTOP)
        try:
            self.hands.choose("Plugged In", 3)
            self.hands.choose("On Battery", 3)
        finally:
            os.kill(daemon, signal.SIGCONT)
        until("the last is set", lambda: self.ask("power")["map"].get("battery") == "powersave")
        self.assertEqual(self.ask("power")["map"].get("ac"), "powersave")
        for key, row in {"ac": "Plugged In", "battery": "On Battery"}.items():
            self.hands.choose(row, 0)
            until(f"{key} is not set", lambda key=key: key not in self.ask("power")["map"])

    def test_choices_go_back_to_the_configuration(self):
        self.applet.pandemonium("domain", "set", "powersave")
        self.applet.pandemonium("idle-selector", "off")
        self.hands.press("Reset Choices…")
        self.hands.press("Reset")
        until("the domain is back", lambda: self.domain() == "all")
        self.until_said({"idle_selector": True}, "idle-selector")

    def test_programs_that_hold_a_mode_are_shown(self):
        self.until_shown("No program holds a mode")
        environment = {**self.desktop.environment, "DBUS_SYSTEM_BUS_ADDRESS": self.applet.address}
        holder = subprocess.Popen(
            [TARGET / "pandemonium", "hold", "bpf", "--reason", "playing", "--", "sleep", "60"], env=environment,
            start_new_session=True,
        )
        try:
            self.until_shown("playing")
            self.until_shown("Fixed, since")
        finally:
            os.killpg(holder.pid, signal.SIGTERM)
            holder.wait()
        self.until_shown("No program holds a mode")

    def test_every_control_has_a_name(self):
        self.until_shown("Mode at Start")
        self.hands.click("Names in Force", "label")
        self.assert_named()
        self.hands.click("Names in Force", "label")


class Looking(Case):
    arguments = ("--page", "preferences")

    def test_to_look_changes_nothing(self):
        for width, height in [(360, 700), (900, 1700)]:
            self.applet.resize(width, height)
            self.until_shown("Mode at Start")
        self.assertEqual(self.ask("domain")["domain"], "all")
        self.assertEqual(self.ask("power")["map"], {"performance": "performance", "power-saver": "powersave"})
        self.assertEqual(self.ask("idle-selector"), {"idle_selector": True})
        self.assertEqual(self.status()["boot_mode"], "adaptive")
        self.assertFalse([name for name in self.hands.names() if name.startswith("Not done")])

#!/usr/bin/env python3
"""The applet beside its window: the item in the panel, notifications, and whoever goes away and comes back."""

import contextlib
import json
import sys
import time
import unittest

import dbus

from desktop import Desktop, until
from machine import NOTIFICATIONS, SCRIPT, Bus, Installed, Machine, Panel, switches

APPLET = "org.pandemonium.Applet"
EXIT = '[[step]]\nexit = { kind = "sysrq", reason = "disabled by sysrq-S" }\n'


class Case(unittest.TestCase):
    """A machine, a session and an applet for each class."""

    arguments = ["--hidden"]
    has_panel = True

    @classmethod
    def setUpClass(cls):
        cls.desktop = Desktop()
        cls.addClassCleanup(cls.desktop.__exit__)
        cls.machine = Machine(cls.desktop)
        cls.session = Bus(cls.desktop, "session")
        cls.panel = Panel(cls.desktop, cls.session)
        cls.told = cls.desktop.directory / "told"
        cls.told.touch()
        cls.start_notifier()
        cls.machine.until_state("running")
        if cls.has_panel:
            cls.panel.start()
        cls.applet = Installed(cls.desktop, cls.machine, cls.session, *cls.arguments)

    @classmethod
    def start_notifier(cls):
        cls.desktop.run(sys.executable, "-B", "notifier.py", cls.session.address, cls.told, cwd=sys.path[0])
        until("notifications are shown", lambda: cls.session.has(NOTIFICATIONS))

    def setUp(self):
        self.told.write_text("")

    def restart_session(self):
        """Another session bus at the same place, with a panel on it."""
        self.session.stop()
        self.session.start()
        self.panel.start()
        until("the applet has its name again", lambda: self.session.has(APPLET))

    def until_icon(self, name):
        until(f"the icon is {name}", lambda: self.panel.get("IconName") == f"pandemonium-{name}-symbolic")

    def until_text(self, text):
        until(f"the tooltip says {text}", lambda: text in self.panel.text())

    def until_mode(self, mode):
        until(f"mode {mode}", lambda: self.machine.get("RequestedMode") == mode)

    def close(self, window):
        """Closes it as its title bar would; there is no window manager to ask."""
        self.desktop.say("xdotool", "windowfocus", "--sync", window, "key", "ctrl+w")

    def notifications(self):
        return [json.loads(line) for line in self.told.read_text().splitlines()]

    def until_told(self, text):
        """The notification that says this, once it shows."""

        def probe():
            return next((note for note in self.notifications() if text in note.get("body", "")), None)

        return until(f"{text} is told", probe)


class Item(Case):
    def test_1_it_comes_without_a_window(self):
        self.until_icon("running")
        self.assertFalse(self.applet.is_shown())
        self.assertEqual(self.panel.get("Title"), "PANDEMONIUM")

    def test_2_its_tooltip_tells_mode_load_and_wait(self):
        self.until_text("Your system is tuned\nAdaptive · ")
        self.until_text("99 of 100 wake-ups waited no longer than ")

    def test_3_its_menu_switches_the_mode(self):
        self.until_icon("running")
        for label, mode, icon in (("Fixed", "bpf", "running"), ("Off", "off", "off"), ("Adaptive", "adaptive", "running")):
            self.panel.choose(label)
            self.until_mode(mode)
            self.until_icon(icon)

            def chosen():
                lines = self.panel.menu()
                return [label for label in ("Adaptive", "Fixed", "Off") if lines[label][1]]

            until(f"{label} is chosen", lambda: chosen() == [label])
        self.assertEqual(self.machine.get("ConfirmUSec"), 0)

    def test_4_whoever_switches_elsewhere_is_followed(self):
        self.machine.call("SetMode", "bpf", dbus.Dictionary(signature="sv"))
        until("Fixed is chosen", lambda: self.panel.menu()["Fixed"][1])
        self.machine.call("SetMode", "adaptive", dbus.Dictionary(signature="sv"))
        until("Adaptive is chosen", lambda: self.panel.menu()["Adaptive"][1])

    def test_5_a_click_opens_the_window_and_closing_it_leaves_the_item(self):
        self.panel.activate()
        window = self.applet.window()
        self.close(window)
        until("the window is closed", lambda: not self.applet.is_shown())
        self.assertIsNone(self.applet.process.poll())
        self.panel.choose("Open PANDEMONIUM")
        until("the window is there again", self.applet.is_shown)
        self.assertNotIn("libgallium", self.applet.libraries())
        self.assertLess(self.applet.resident_kib(), 90 * 1024)
        self.close(self.applet.window())
        until("the window is closed", lambda: not self.applet.is_shown())
        self.until_icon("running")

    def test_6_a_hidden_applet_is_not_woken(self):
        self.until_icon("running")
        self.machine.play(SCRIPT)
        time.sleep(3)
        before = switches(self.applet.process.pid)
        time.sleep(3)
        # The daemon has made thirty ticks meanwhile.
        self.assertLess(switches(self.applet.process.pid) - before, 10)

    def test_7_a_panel_that_is_started_anew_shows_it_again(self):
        self.until_icon("running")
        for _ in range(3):
            self.panel.stop()
            self.panel.start()
            self.until_icon("running")
        self.panel.choose("Fixed")
        self.until_mode("bpf")
        self.panel.choose("Adaptive")
        self.until_mode("adaptive")

    def test_8_the_buses_are_started_anew(self):
        self.until_icon("running")
        self.machine.stop()
        self.until_icon("problem")
        self.assertFalse(self.panel.menu()["Off"][0], "there is nobody to switch")
        self.machine.bus.start()
        self.machine.start()
        self.until_icon("running")
        self.restart_session()
        self.until_icon("running")
        self.panel.choose("Off")
        self.until_mode("off")
        self.until_icon("off")
        self.panel.choose("Adaptive")
        self.until_icon("running")

    def test_9_quit_is_the_end(self):
        # It may be gone before it has answered.
        with contextlib.suppress(dbus.DBusException):
            self.panel.choose("Quit")
        self.assertEqual(self.applet.process.wait(30), 0)


class Restarts(Case):
    def test_a_hundred_daemons_are_followed_without_keeping_anything_of_them(self):
        resident = []
        for count in range(110):
            self.until_icon("running")
            if count >= 10:
                resident.append(self.applet.resident_kib())
            self.machine.kill_daemon()
            until("the daemon is missed", lambda: self.panel.get("IconName") == "pandemonium-problem-symbolic", pause=0.01)
            self.machine.start_daemon()
        self.until_icon("running")
        self.assertLess(resident[-1] - resident[0], 5 * 1024)
        self.assertEqual(self.notifications(), [])


class Occasions(Case):
    def test_1_an_ejection_is_told_once_with_a_button_that_helps(self):
        self.until_icon("running")
        self.machine.play(SCRIPT.replace("backoff_ms = 1000", "backoff_ms = 600000") + EXIT)
        note = self.until_told("disabled by sysrq-S")
        self.assertEqual(note["summary"], "Ended by the kernel")
        self.assertIn("Load Again", note["actions"])
        self.until_icon("problem")
        self.panel.stop()
        self.panel.start()
        self.until_icon("problem")
        self.assertEqual(len(self.notifications()), 1)
        self.machine.play(SCRIPT)
        action = note["actions"][note["actions"].index("Load Again") - 1]
        notifier = self.session.object(NOTIFICATIONS, "/org/freedesktop/Notifications")
        notifier.Press(note["number"], action, dbus_interface="org.pandemonium.Test")
        self.machine.until_state("running")
        self.until_icon("running")

    def test_2_another_scheduler_is_told(self):
        self.until_icon("running")
        self.machine.play(SCRIPT + 'foreign = "scx_other"\n' + EXIT)
        note = self.until_told("Another scheduler is loaded: scx_other.")
        self.machine.play(SCRIPT)
        self.machine.call("Start")
        self.until_icon("running")
        until("it is taken back", lambda: {"closed": note["number"]} in self.notifications())

    def test_3_a_mode_that_goes_back_is_told_and_one_that_is_taken_back_is_not(self):
        self.until_icon("running")
        trial = dbus.Dictionary({"confirm-timeout": dbus.UInt32(5)}, signature="sv")
        self.machine.call("SetMode", "bpf", trial)
        self.machine.call("Revert")
        self.until_mode("adaptive")
        self.machine.call("SetMode", "bpf", trial)
        self.until_told("“Fixed” was not kept, so the mode is “Adaptive” again.")
        bodies = [note["body"] for note in self.notifications() if "body" in note]
        self.assertEqual(len(bodies), 1, bodies)


    def test_4_another_bus_is_told_as_well(self):
        self.machine.play(SCRIPT)
        self.until_icon("running")
        self.restart_session()
        self.start_notifier()
        self.until_icon("running")
        self.assertFalse(self.applet.is_shown())
        self.machine.play(SCRIPT + EXIT)
        self.until_told("disabled by sysrq-S")
        self.panel.activate()
        self.applet.window()
        self.restart_session()
        self.applet.window()


class NoPanel(Case):
    arguments = []
    has_panel = False

    def test_1_closing_the_window_is_the_end_unless_there_is_a_panel(self):
        window = self.applet.window()
        self.panel.start("--empty")
        time.sleep(1)
        self.assertEqual(self.panel.items(), [])
        self.close(window)
        self.assertEqual(self.applet.process.wait(30), 0)

    def test_2_a_hidden_one_shows_itself_after_a_while(self):
        applet = Installed(self.desktop, self.machine, self.session, "--hidden")
        self.assertIsNone(applet.process.poll())
        self.assertFalse(applet.is_shown())
        until("the window is there", applet.is_shown)
        # Whoever starts it again gets this one.
        again = Installed(self.desktop, self.machine, self.session, "--hidden")
        self.assertEqual(again.process.wait(30), 0)
        self.assertIsNone(applet.process.poll())
        applet.end()


if __name__ == "__main__":
    unittest.main(verbosity=2)

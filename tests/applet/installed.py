#!/usr/bin/env python3
"""installed.py: the applet of the package beside the service of this machine, for whoever sits there and is no
administrator. Part of tests/system/applet.sh, where root answers Off with Fixed."""

import unittest

import dbus

from case import Case
from desktop import Applet, Desktop, until
from hands import Hands
from machine import NAME, OBJECT, PROPERTIES


# Of the window, so that every row shows; and where in it something is said in passing.
SIZE = (900, 1700)
SAID_AT = (SIZE[0] // 2, SIZE[1] - 63)


class Packaged(Applet):
    """The program where the package puts it."""

    program = "pandemonium-applet"


class Installed(Case):
    @classmethod
    def setUpClass(cls):
        cls.desktop = Desktop()
        cls.addClassCleanup(cls.desktop.__exit__)
        cls.applet = Packaged.beside(cls.desktop)
        cls.applet.focus()
        cls.applet.resize(*SIZE)
        cls.hands = Hands(cls.desktop, cls.applet.process.pid)

    def get(self, name):
        """A property of the service."""
        service = dbus.SystemBus().get_object(NAME, OBJECT, introspect=False)
        return service.Get(NAME, name, dbus_interface=PROPERTIES)

    def test_1_the_mode_is_switched_and_whoever_else_switches_it_is_followed(self):
        self.until_shown("Your system is tuned")
        # Any other mode has to be kept within seconds, which an emulated machine may not have.
        self.hands.press("Off", "radio button")
        until("root has answered", lambda: self.get("Mode") == "bpf")
        until("that is shown", lambda: self.hands.is_checked("Fixed"))

    def test_2_what_takes_an_administrator_is_refused_in_a_sentence(self):
        self.hands.keys("alt+3")
        self.hands.stir(*SAID_AT)
        self.hands.act("Find Idle CPUs Itself")
        self.until_shown("Not done: no permission")
        until("the switch is back", lambda: self.hands.is_checked("Find Idle CPUs Itself"))
        self.assertTrue(self.get("IdleSelector"))
        # The sentence is the only one.
        self.assertEqual([seen.role for seen in self.hands.all() if seen.role in ("alert", "dialog")], ["alert"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

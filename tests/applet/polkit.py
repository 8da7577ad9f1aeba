#!/usr/bin/env python3
"""polkit.py ADDRESS: a polkit on this bus that allows everything."""

import sys

import dbus.bus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.PolicyKit1"


class Polkit(dbus.service.Object):
    """The one method that the daemon calls."""

    @dbus.service.method(NAME + ".Authority", in_signature="(sa{sv})sa{ss}us", out_signature="(bba{ss})")
    def CheckAuthorization(self, _subject, _action, _details, _flags, _cancellation):  # pylint: disable=invalid-name
        return True, False, dbus.Dictionary(signature="ss")


LOOP = dbus.mainloop.glib.DBusGMainLoop()
BUS = dbus.bus.BusConnection(sys.argv[1], mainloop=LOOP)
POLKIT = Polkit(BUS, "/org/freedesktop/PolicyKit1/Authority")
BUS.request_name(NAME)
GLib.MainLoop().run()

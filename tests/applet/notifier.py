#!/usr/bin/env python3
"""notifier.py ADDRESS FILE: on this session bus, whoever shows notifications; it writes each into the file, one a line."""

import json
import sys

import dbus.bus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NOTIFICATIONS = "org.freedesktop.Notifications"


class Notifications(dbus.service.Object):
    """Writes what it is to show, and what it is to show no more."""

    count = 0

    def write(self, **told):
        with open(sys.argv[2], "a", encoding="utf-8") as file:
            print(json.dumps(told), file=file)

    @dbus.service.method(NOTIFICATIONS, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, _application, replaces, _icon, summary, body, actions, _hints, _timeout):
        if not replaces:
            self.count += 1
        number = replaces or self.count
        self.write(number=int(number), summary=summary, body=body, actions=list(actions))
        return number

    @dbus.service.method(NOTIFICATIONS, in_signature="u")
    def CloseNotification(self, number):
        self.write(closed=int(number))

    @dbus.service.method(NOTIFICATIONS, out_signature="as")
    def GetCapabilities(self):
        return ["actions", "body"]

    @dbus.service.method(NOTIFICATIONS, out_signature="ssss")
    def GetServerInformation(self):
        return "test", "test", "1", "1.2"

    @dbus.service.signal(NOTIFICATIONS, signature="us")
    def ActionInvoked(self, number, action):
        pass

    @dbus.service.method("org.pandemonium.Test", in_signature="us")
    def Press(self, number, action):
        """Somebody presses the button of an action."""
        self.ActionInvoked(number, action)


LOOP = dbus.mainloop.glib.DBusGMainLoop()
BUS = dbus.bus.BusConnection(sys.argv[1], mainloop=LOOP)
SERVED = Notifications(BUS, "/org/freedesktop/Notifications")
BUS.request_name(NOTIFICATIONS)
GLib.MainLoop().run()

#!/usr/bin/env python3
"""panel.py ADDRESS [--empty]: on this session bus, a watcher of tray items, with a panel that shows them unless it is
empty."""

import sys

import dbus.bus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

WATCHER = "org.kde.StatusNotifierWatcher"


class Watcher(dbus.service.Object):
    """Keeps a list of items, and nothing else."""

    items = []

    @dbus.service.method(WATCHER, in_signature="s", sender_keyword="sender")
    def RegisterStatusNotifierItem(self, name, sender):
        self.items.append(sender if name.startswith("/") else name)

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, _interface, name):
        return {
            "RegisteredStatusNotifierItems": dbus.Array(self.items, signature="s"),
            "IsStatusNotifierHostRegistered": "--empty" not in sys.argv,
            "ProtocolVersion": 0,
        }[name]


LOOP = dbus.mainloop.glib.DBusGMainLoop()
BUS = dbus.bus.BusConnection(sys.argv[1], mainloop=LOOP)
SERVED = Watcher(BUS, "/StatusNotifierWatcher")
BUS.request_name(WATCHER)
GLib.MainLoop().run()

#!/usr/bin/env python3
"""crowd.py COUNT: a daemon without a scheduler that knows this many programs, more than the real one keeps. Prints a
line when it is there. Whoever changes anything is refused."""

import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.pandemonium.Scheduler1"
PATH = "/org/pandemonium/Scheduler1"
PROCESSES = "org.pandemonium.Processes1"
METRICS = "org.pandemonium.Metrics1"
TIERS = ["batch", "interactive", "lat_critical"]
MAX_ROWS = 512


class Denied(dbus.DBusException):
    _dbus_error_name = "org.freedesktop.DBus.Error.AccessDenied"


def profile(index):
    name = f"program-{index:05}"
    return (
        dbus.ByteArray(name.encode()), name, TIERS[index * 7 % 3], dbus.UInt32(index * 37 % 1001), dbus.UInt32(index + 1),
        dbus.UInt64(1000 * (index * 7919 % 10007)), dbus.UInt64(10), dbus.UInt32(index * 31 % 499), dbus.UInt64(index),
    )


class Crowd(dbus.service.Object):
    def __init__(self, bus, count):
        super().__init__(bus, PATH)
        self.count = count
        self.generation = 1
        self.lists = 0
        self.is_inspected = True
        self.is_failing = False

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        if interface != NAME:
            return {}
        return {
            "State": "running", "Mode": "adaptive", "RequestedMode": "adaptive", "BootMode": "adaptive",
            "ModeReason": "boot", "KernelState": "enabled", "KernelOps": "pandemonium", "Regime": "LIGHT",
            "PrimaryDomain": "all", "IdleSelector": True,
        }

    @dbus.service.signal("org.freedesktop.DBus.Properties", signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    @dbus.service.method(METRICS, in_signature="tu", out_signature="a(tuyyqqquuu(uuu)uuuu)")
    def GetHistory(self, since, most):
        return []

    @dbus.service.method(METRICS, in_signature="u")
    def Subscribe(self, interval):
        pass

    @dbus.service.method(METRICS)
    def Unsubscribe(self):
        pass

    @dbus.service.method(PROCESSES, in_signature="uua{sv}", out_signature="a(ayssuuttut)ut")
    def List(self, offset, limit, wanted):
        self.lists += 1
        if not self.is_inspected:
            raise Denied("it may not be looked at")
        if self.is_failing:
            raise dbus.DBusException("no <memory>", name="org.freedesktop.DBus.Error.NoMemory")
        if wanted.get("pinned"):
            return [], 0, self.generation
        rows = [profile(index) for index in range(offset, min(offset + MAX_ROWS, self.count))]
        return rows, self.count, self.generation

    @dbus.service.method(PROCESSES, in_signature="ay", out_signature="(ayssuuttut)a{sv}", byte_arrays=True)
    def Get(self, name):
        row = profile(int(name.decode().removeprefix("program-")))
        details = {
            "pinned": False, "learned_tier": row[2], "votes": dbus.Struct([dbus.UInt32(1)] * 3),
            "confident": True, "score": dbus.UInt32(7), "csw_rate": dbus.UInt32(3),
            "launches_since": dbus.UInt64(self.count - 1 - row[8]), "launches_since_first": dbus.UInt64(self.count),
        }
        return row, dbus.Dictionary(details, signature="sv")

    @dbus.service.method(PROCESSES, in_signature="ays")
    def Pin(self, name, tier):
        raise Denied("it may not be changed")

    @dbus.service.method(PROCESSES, in_signature="h")
    def Export(self, file):
        raise Denied("it may not be looked at")

    @dbus.service.method("org.pandemonium.Test", in_signature="b")
    def Inspect(self, is_allowed):
        """Whether lists may be looked at from now on."""
        self.is_inspected = is_allowed

    @dbus.service.method("org.pandemonium.Test", in_signature="b")
    def Fail(self, is_failing):
        """Whether lists fail from now on."""
        self.is_failing = is_failing

    @dbus.service.method("org.pandemonium.Test")
    def Change(self):
        """Something was learned."""
        self.generation += 1
        self.PropertiesChanged(PROCESSES, {"Generation": dbus.UInt64(self.generation)}, [])

    @dbus.service.method("org.pandemonium.Test", out_signature="u")
    def Lists(self):
        """How often List was called."""
        return self.lists


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
connection = dbus.SessionBus()
crowd = Crowd(connection, int(sys.argv[1]))
owned = dbus.service.BusName(NAME, connection)
print("here", flush=True)
GLib.MainLoop().run()

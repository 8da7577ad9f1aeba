# SPDX-License-Identifier: GPL-2.0-only
"""The password dialog of a desktop, without a person: agent.py SESSION registers it with polkit.

It says what it is told, a line each: "ready PID", "asked ACTION COOKIE", "withdrawn COOKIE". Its dialogs stay open
until SIGUSR1 closes them: whether a password was right is what polkit has heard by then, not what is said here.
"""

import os
import signal
import sys

from gi.repository import Gio, GLib

POLKIT = "org.freedesktop.PolicyKit1"
INTERFACE = f"""<node><interface name='{POLKIT}.AuthenticationAgent'>
<method name='BeginAuthentication'><arg type='s' direction='in'/><arg type='s' direction='in'/>
<arg type='s' direction='in'/><arg type='a{{ss}}' direction='in'/><arg type='s' direction='in'/>
<arg type='a(sa{{sv}})' direction='in'/></method>
<method name='CancelAuthentication'><arg type='s' direction='in'/></method>
</interface></node>"""

dialogs = {}


def called(_bus, _sender, _path, _interface, member, arguments, call):
    arguments = arguments.unpack()
    if member == "BeginAuthentication":
        action, _message, _icon, _details, cookie, _identities = arguments
        dialogs[cookie] = call
        print("asked", action, cookie, flush=True)
    else:
        (cookie,) = arguments
        call.return_value(None)
        # polkit says so twice when the one who asked leaves while the service takes its question back.
        if cookie in dialogs:
            dialogs.pop(cookie).return_dbus_error(f"{POLKIT}.Error.Cancelled", "withdrawn")
            print("withdrawn", cookie, flush=True)


def close():
    while dialogs:
        dialogs.popitem()[1].return_value(None)
    return True


bus = Gio.bus_get_sync(Gio.BusType.SYSTEM)
bus.register_object("/agent", Gio.DBusNodeInfo.new_for_xml(INTERFACE).interfaces[0], called, None, None)
subject = ("unix-session", {"session-id": GLib.Variant("s", sys.argv[1])})
bus.call_sync(
    POLKIT,
    f"/{POLKIT.replace('.', '/')}/Authority",
    f"{POLKIT}.Authority",
    "RegisterAuthenticationAgent",
    GLib.Variant("((sa{sv})ss)", (subject, "C", "/agent")),
    None,
    Gio.DBusCallFlags.NONE,
    -1,
)
GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGUSR1, close)
print("ready", os.getpid(), flush=True)
GLib.MainLoop().run()

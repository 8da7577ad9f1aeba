"""What is around an applet that is no demo: two buses that can be started anew at the same place, a polkit that allows
everything, the daemon with a scripted kernel, a panel that shows tray items, and whoever shows notifications."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dbus
import dbus.bus

from desktop import TARGET, Applet, until

HERE = Path(__file__).parent
NAME, OBJECT = "org.pandemonium.Scheduler1", "/org/pandemonium/Scheduler1"
ITEM, ITEM_PATH = "org.kde.StatusNotifierItem", "/StatusNotifierItem"
MENU, MENU_PATH = "com.canonical.dbusmenu", "/MenuBar"
PANEL = "org.kde.StatusNotifierWatcher"
NOTIFICATIONS = "org.freedesktop.Notifications"
PROPERTIES = "org.freedesktop.DBus.Properties"
SCRIPT = "tick_ms = 100\nbackoff_ms = 1000\n"


class Bus:
    """A bus at a place of its own, where it is found again after it was started anew."""

    def __init__(self, desktop, name):
        self.desktop = desktop
        self.path = desktop.directory / name
        self.address = f"unix:path={self.path}"
        self.start()

    @classmethod
    def of(cls, desktop):
        """The session bus that the desktop has anyway."""
        bus = cls.__new__(cls)
        bus.address = desktop.environment["DBUS_SESSION_BUS_ADDRESS"]
        return bus

    def start(self):
        self.path.unlink(missing_ok=True)
        self.process = self.desktop.run(
            "dbus-daemon", "--session", "--nofork", f"--address={self.address}", "--print-address=1",
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        # Its file is there before anybody may connect; it says its address afterwards.
        assert self.process.stdout.readline(), "the bus did not start"

    def stop(self):
        self.process.kill()
        self.process.wait()

    def object(self, name, path):
        """Somebody on it, over a connection of its own: the old one may belong to a bus that was."""
        return dbus.bus.BusConnection(self.address).get_object(name, path, introspect=False)

    def has(self, name):
        return dbus.bus.BusConnection(self.address).name_has_owner(name)


class Machine:
    """The system bus and what is on it."""

    def __init__(self, desktop, script=SCRIPT):
        self.desktop = desktop
        self.directory = desktop.directory / "machine"
        self.directory.mkdir(exist_ok=True)
        (self.directory / "config.toml").write_text("")
        self.play(script)
        self.bus = Bus(desktop, "system")
        self.start()

    def start(self):
        self.polkit = self.desktop.run(
            sys.executable, "-B", HERE / "polkit.py", self.bus.address)
        until("polkit is there", lambda: self.bus.has("org.freedesktop.PolicyKit1"))
        self.start_daemon()

    def start_daemon(self):
        self.daemon = self.desktop.run(
            TARGET / "pandemoniumd", "--scripted", self.directory / "script.toml", "--config",
            self.directory / "config.toml", "--state-dir", self.directory / "state", "--bus-address", self.bus.address,
            stderr=subprocess.DEVNULL)

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.wait()
        self.desktop.processes.remove(self.daemon)

    def stop(self):
        for process in (self.daemon, self.polkit):
            process.kill()
            process.wait()
        self.bus.stop()

    def play(self, script):
        """Another kernel from now on."""
        new = self.directory / "script.next"
        new.write_text(script)
        new.rename(self.directory / "script.toml")

    def get(self, name):
        """A property of the daemon; nothing while there is none."""
        try:
            daemon = self.bus.object(NAME, OBJECT)
            return daemon.Get(NAME, name, dbus_interface=PROPERTIES)
        except dbus.DBusException:
            return None

    def call(self, method, *arguments):
        return self.bus.object(NAME, OBJECT).get_dbus_method(method, NAME)(*arguments)

    def until_state(self, state):
        until(f"the daemon is {state}", lambda: self.get("State") == state)


class Installed(Applet):
    """The applet as it is when it is installed. Its session bus is its own."""

    def __init__(self, desktop, machine, session, *arguments, **environment):  # pylint: disable=super-init-not-called
        self.desktop = desktop
        environment = {
            **desktop.environment, "DBUS_SYSTEM_BUS_ADDRESS": machine.bus.address,
            "DBUS_SESSION_BUS_ADDRESS": session.address, **environment,
        }
        self.process = subprocess.Popen([self.program, *arguments], env=environment)
        desktop.processes.append(self.process)

    def is_shown(self):
        return bool(self._find())

    def libraries(self):
        """The files that are mapped into it."""
        return Path(f"/proc/{self.process.pid}/maps").read_text()

    def resident_kib(self):
        """Memory of its own and shared, KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])


class Panel:
    """A panel: `panel.py` beside us, or none."""

    def __init__(self, desktop, session):
        self.desktop = desktop
        self.session = session
        self.process = None

    def start(self, *arguments):
        self.process = self.desktop.run(sys.executable, "-B", HERE / "panel.py", self.session.address, *arguments)
        until("the panel is there", lambda: self.session.has(PANEL))

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        until("the panel is gone", lambda: not self.session.has(PANEL))

    def items(self):
        """The names of the items that were registered with it and are still there."""
        try:
            watcher = self.session.object(PANEL, "/StatusNotifierWatcher")
            names = watcher.Get(PANEL, "RegisteredStatusNotifierItems", dbus_interface=PROPERTIES)
        except dbus.DBusException:
            return []
        return [str(name) for name in names if self.session.has(name)]

    def item(self):
        """The one item, once it is there."""
        return until("the item is in the panel", lambda: self.items() or None)[0]

    def get(self, name):
        """A property of the item; nothing while it is not there."""
        items = self.items()
        if not items:
            return None
        try:
            return self.session.object(items[0], ITEM_PATH).Get(ITEM, name, dbus_interface=PROPERTIES)
        except dbus.DBusException:
            return None

    def text(self):
        """What the tooltip says."""
        tip = self.get("ToolTip")
        return str(tip[3]) if tip else ""

    def activate(self):
        self.session.object(self.item(), ITEM_PATH).Activate(0, 0, dbus_interface=ITEM)

    def menu(self):
        """The menu, opened: for each line its label, whether it can be chosen, whether it is chosen, and its number."""
        menu = self.session.object(self.item(), MENU_PATH)
        menu.AboutToShow(0, dbus_interface=MENU)
        _, (_, _, lines) = menu.GetLayout(0, -1, dbus.Array(signature="s"), dbus_interface=MENU)
        return {
            str(properties.get("label", "")).replace("_", ""): (
                bool(properties.get("enabled", True)), properties.get("toggle-state", -1) == 1, int(number))
            for number, properties, _ in lines
        }

    def choose(self, label):
        """Clicks on a line of the menu."""
        number = self.menu()[label][2]
        menu = self.session.object(self.item(), MENU_PATH)
        menu.Event(number, "clicked", dbus.String("", variant_level=1), dbus.UInt32(time.time()), dbus_interface=MENU)


def switches(pid):
    """How often the threads of a process have gone to sleep and were woken."""
    count = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        status = Path(f"/proc/{pid}/task/{task}/status").read_text()
        count += int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
    return count

"""A desktop without a screen: an X server, a session bus with assistive technology, and the applet's demo on it."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "debug"
# Seconds; an emulated machine needs more, and longer pauses: to look is work for the applet as well.
PATIENCE = float(os.environ.get("PANDEMONIUM_PATIENCE", "30"))
PAUSE = PATIENCE / 300


def until(what, probe, patience=PATIENCE, pause=PAUSE):
    """Waits until the probe returns something true, and returns that."""
    deadline = time.monotonic() + patience
    while True:
        seen = probe()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"this never came true: {what}")
        time.sleep(pause)


class Desktop:
    """Ends everything it started when it is left."""

    def __init__(self, size="1000x1800", **environment):
        self.directory = Path(tempfile.mkdtemp(prefix="desktop-"))
        self.processes = []
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "XDG_RUNTIME_DIR": str(self.directory),
            "LANG": "C.UTF-8",
            "GDK_BACKEND": "x11",
            "GSK_RENDERER": "cairo",
            "GTK_A11Y": "atspi",
            "GSETTINGS_BACKEND": "memory",
            "NO_AT_BRIDGE": "0",
            **environment,
        }
        settings = self.directory / ".config/gtk-4.0/settings.ini"
        settings.parent.mkdir(parents=True)
        # Two clicks are two clicks here, however quick the machine is: the second of a double click does not press. A row
        # whose button comes up after that time was not clicked at all, so it is long, and no two clicks are near.
        settings.write_text(
            "[Settings]\ngtk-font-name=Inter 11\ngtk-enable-animations=0\n"
            "gtk-double-click-time=30000\ngtk-double-click-distance=0\n"
        )
        self.directory.chmod(0o700)
        self._start_x(size)
        self._start_bus()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, *command, **options):
        """A program of this desktop that runs beside the others."""
        process = subprocess.Popen(command, env=self.environment, text=True, **options)
        self.processes.append(process)
        return process

    def say(self, *command):
        """What a program of this desktop prints."""
        done = subprocess.run(command, env=self.environment, text=True, capture_output=True, check=True)
        return done.stdout.strip()

    def _start_x(self, size):
        reading, writing = os.pipe()
        self.run(
            "Xvfb", "-displayfd", str(writing), "-noreset", "-nolisten", "tcp",
            "-screen", "0", f"{size}x24", pass_fds=[writing], stderr=subprocess.DEVNULL,
        )
        os.close(writing)
        with os.fdopen(reading) as told:
            self.environment["DISPLAY"] = ":" + told.readline().strip()

    def _start_bus(self):
        bus = self.run(
            "dbus-daemon", "--session", "--nofork", "--print-address=1", stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()


class Applet:
    """The demo in a window."""

    program = TARGET / "pandemonium-applet"

    def __init__(self, desktop, *arguments, **environment):
        self._start(desktop, ["--demo", *arguments], environment)
        self.address = self.process.stdout.readline().strip()
        assert self.address, "the demo did not start"

    @classmethod
    def beside(cls, desktop, *arguments, **environment):
        """The applet beside a daemon that is there already."""
        applet = cls.__new__(cls)
        applet._start(desktop, arguments, environment)
        return applet

    def _start(self, desktop, arguments, environment):
        self.desktop = desktop
        self.process = subprocess.Popen(
            [self.program, *arguments], env={**desktop.environment, **environment},
            stdout=subprocess.PIPE, text=True,
        )
        desktop.processes.append(self.process)

    def window(self):
        """The X window, once it is there."""
        return until("the window is there", self._find).split()[-1]

    def _find(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the applet ended with {self.process.returncode}")
        found = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--pid", str(self.process.pid)],
            env=self.desktop.environment, text=True, capture_output=True, check=False,
        )
        return found.stdout.strip()

    def focus(self):
        """Gives the window the keyboard, once it is there."""
        self.desktop.say("xdotool", "windowfocus", "--sync", self.window())

    def resize(self, width, height):
        """Makes the window this large, in pixels."""
        self.desktop.say("xdotool", "windowsize", "--sync", self.window(), str(width), str(height))

    def shot(self, file):
        """A picture of the window."""
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        self.desktop.say("import", "-window", self.window(), "-strip", "-depth", "8", str(file))

    def pandemonium(self, *arguments):
        """The command line, on the bus of the demo."""
        done = subprocess.run(
            [TARGET / "pandemonium", *arguments],
            env={**self.desktop.environment, "DBUS_SYSTEM_BUS_ADDRESS": self.address},
            text=True, capture_output=True, check=False,
        )
        return done.stdout.strip()

    def end(self):
        """Closes the applet as a session does, and returns its status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

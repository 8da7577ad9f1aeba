"""What a person with a keyboard and a screen reader can find and do, through AT-SPI."""

import os
import subprocess

from collections import namedtuple

import gi
from gi.repository import GLib

from desktop import PATIENCE, until

gi.require_version("Atspi", "2.0")

# Seconds after which a click that opened nothing is tried again.
SWALLOWED = PATIENCE / 3

Seen = namedtuple("Seen", "node name role states")

# Roles that a person acts on.
CONTROLS = {
    "push button", "button", "toggle button", "check box", "radio button", "switch", "combo box", "entry", "text",
    "spin button", "menu item", "slider",
}


class Hands:
    """One application on the desktop. The library keeps its connection, so there is one desktop in a process."""

    def __init__(self, desktop, pid):
        os.environ.update(desktop.environment)
        from gi.repository import Atspi

        # It gives up after less than a second by itself.
        Atspi.set_timeout(int(PATIENCE * 1000), -1)
        self.atspi = Atspi
        self.desktop = desktop
        self.pid = pid
        until("the applet is accessible", self.application)

    def application(self):
        """The root of what the application shows."""
        root = self.atspi.get_desktop(0)
        for index in range(root.get_child_count()):
            child = root.get_child_at_index(index)
            if child and child.get_process_id() == self.pid and child.get_child_count():
                return child
        return None

    def all(self):
        """Everything that shows, from the outside in, as far as it is asked for: each answer is a journey over the bus.
        What goes away meanwhile is left out."""
        root = self.application()
        waiting = [root]
        while waiting:
            node = waiting.pop(0)
            if node is None:
                continue
            try:
                node.clear_cache_single()
                states = node.get_state_set()
                if node is not root and not states.contains(self.atspi.StateType.SHOWING):
                    continue
                seen = Seen(node, node.get_name() or "", node.get_role_name(), states)
                waiting[:0] = [node.get_child_at_index(index) for index in range(node.get_child_count())]
            except GLib.Error:
                continue
            yield seen

    def controls(self):
        """What a person can act on."""
        return [seen for seen in self.all() if seen.role in CONTROLS]

    def names(self):
        """Every name that shows."""
        return [seen.name for seen in self.all()]

    def find(self, name, *roles):
        """The first that has this name, once there is one."""
        return until(f"{name} shows", lambda: next(self.called(name, *roles), None))

    def called(self, name, *roles):
        """All that have this name."""
        return (seen for seen in self.all() if seen.name == name and (not roles or seen.role in roles))

    def press(self, name, *roles):
        """Does what a click would; what offers no action is clicked."""
        seen = self.find(name, *(roles or CONTROLS))
        action = seen.node.get_action_iface()
        if action and action.get_n_actions():
            assert action.do_action(0), f"{name} did not take it"
            return
        self.click_on(seen)

    def act(self, name):
        """The same without the pointer, on the first of this name that offers an action, once there is one."""

        def probe():
            for seen in self.called(name, *CONTROLS):
                action = seen.node.get_action_iface()
                if action and action.get_n_actions():
                    return action
            return None

        assert until(f"{name} offers an action", probe).do_action(0), f"{name} did not take it"

    def click(self, name, *roles):
        """Clicks on it."""
        self.click_on(self.find(name, *roles))

    def click_on(self, seen):
        """Clicks on what was found, in a window that is at the corner of the screen."""
        place = seen.node.get_component_iface().get_extents(self.atspi.CoordType.WINDOW)
        x, y = place.x + place.width // 2, place.y + place.height // 2
        self.desktop.say("xdotool", "mousemove", str(x), str(y), "click", "1")

    def stir(self, x, y):
        """Moves the pointer about this place from now on: what is said in passing stays while it moves there."""
        moves = ["mousemove", str(x), str(y), "sleep", "1", "mousemove", str(x + 1), str(y), "sleep", "1"]
        self.desktop.run("xdotool", *moves * 300)

    def focused(self):
        """What has the keyboard, from the outside in."""
        return [seen for seen in self.all() if seen.states.contains(self.atspi.StateType.FOCUSED)]

    def until_focused(self, name, key, most=40):
        """Presses a key until what has the keyboard has a name that begins so."""
        met = []
        for _ in range(most):
            met.append([seen.name for seen in self.focused()])
            if any(seen.startswith(name) for seen in met[-1]):
                return
            self.keys(key)
        raise AssertionError(f"{key} does not lead to {name}, only to {met}")

    def keys(self, *names):
        """Presses keys where the keyboard is."""
        self.desktop.say("xdotool", "key", "--delay", "40", *names)

    def type(self, text):
        """Types where the keyboard is."""
        self.desktop.say("xdotool", "type", "--delay", "20", text)

    def choose(self, name, index):
        """Takes the choice with this number of a list that drops down."""
        self.click(name, "combo box")
        try:
            self.until_open("list item", SWALLOWED)
        except AssertionError:
            # A click on what had not quite closed yet has only closed it.
            self.click(name, "combo box")
            self.until_open("list item")
        self.keys("Home", *["Down"] * index, "Return")

    def choose_in_menu(self, name, item):
        """Takes an item of the menu of a button."""
        self.press(name, "toggle button")
        self.until_open("menu item")
        self.until_focused(item, "Down")
        self.keys("Return")

    def save_as(self, title, path, *answers):
        """Writes a path into the dialog of this title, which is a window of its own, and answers what it asks."""
        self.focus_on(title)
        self.until_open("text")
        # What is written there cannot be read. Keys come in their order, unlike the press of a button.
        self.keys("ctrl+a")
        self.type(str(path))
        self.keys("Return")
        for answer in answers:
            self.press(answer)
        self.until_closed(title)

    def open_file(self, title, name):
        """Takes the file of this name at home in the dialog of this title, which may begin elsewhere."""
        self.focus_on(title)

        def probe():
            for seen in self.all():
                if seen.role == "table row" and seen.name.startswith(f"{name} "):
                    if seen.states.contains(self.atspi.StateType.FOCUSED):
                        return True
                    # The dialog takes the first file itself as soon as it has seen all.
                    self.click_on(seen)
                    return False
            self.keys("alt+Home")
            return False

        until(f"{name} has the keyboard", probe, pause=1)
        self.keys("Return")
        self.until_closed(title)

    def windows(self, title):
        """The X windows of this title."""
        found = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--name", f"^{title}$"], env=self.desktop.environment, text=True,
            capture_output=True, check=False)
        return found.stdout.split()

    def focus_on(self, title):
        """Gives a window the keyboard, once it is there."""
        window = until(f"{title} shows", lambda: self.windows(title))[0]
        self.desktop.say("xdotool", "windowfocus", "--sync", window)

    def until_closed(self, title):
        """Until a dialog is gone; then the window has the keyboard."""
        until(f"{title} is gone", lambda: not self.windows(title))
        self.focus_on("PANDEMONIUM")

    def until_open(self, role, patience=PATIENCE):
        """Until something of that kind has the keyboard: keys that come earlier would go elsewhere."""
        seen = []

        def probe():
            seen[:] = [(found.role, found.name) for found in self.focused()]
            return any(found[0] == role for found in seen)

        try:
            until(f"a {role} has the keyboard", probe, patience)
        except AssertionError as error:
            raise AssertionError(f"{error}; instead: {seen}") from None

    def rows(self):
        """The rows of a table, without its head."""
        return [seen for seen in self.all() if seen.role == "table row" and ", " in seen.name]

    def row(self, name):
        """The row of a table that begins with this name."""
        return until(f"{name} shows", lambda: [seen for seen in self.rows() if seen.name.startswith(name)])[0]

    def text(self, name):
        """What is in the entry of this name."""
        node = self.find(name, *CONTROLS).node.get_text_iface()
        return self.atspi.Text.get_text(node, 0, -1)

    def is_checked(self, name):
        """Whether the button of this name is the chosen one."""
        return self.find(name, *CONTROLS).states.contains(self.atspi.StateType.CHECKED)

"""What a person with a keyboard and a screen reader can find and do, through AT-SPI."""

import os

from collections import namedtuple

import gi
from gi.repository import GLib

from desktop import until

gi.require_version("Atspi", "2.0")

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
        """Everything that shows, from the outside in. What goes away meanwhile is left out."""
        found, waiting = [], [self.application()]
        while waiting:
            node = waiting.pop(0)
            if node is None:
                continue
            try:
                node.clear_cache_single()
                is_application = node.get_role() == self.atspi.Role.APPLICATION
                states = node.get_state_set()
                seen = Seen(node, node.get_name() or "", node.get_role_name(), states)
                children = [node.get_child_at_index(index) for index in range(node.get_child_count())]
            except GLib.Error:
                continue
            if is_application or states.contains(self.atspi.StateType.SHOWING):
                found.append(seen)
                waiting[:0] = children
        return found

    def controls(self):
        """What a person can act on."""
        return [seen for seen in self.all() if seen.role in CONTROLS]

    def names(self):
        """Every name that shows."""
        return [seen.name for seen in self.all()]

    def find(self, name, *roles):
        """What has this name, once it shows."""

        def probe():
            for seen in self.all():
                if seen.name == name and (not roles or seen.role in roles):
                    return seen
            return None

        return until(f"{name} shows", probe)

    def press(self, name, *roles):
        """Does what a click would; what offers no action is clicked, where the window is at the corner of the screen."""
        node = self.find(name, *(roles or CONTROLS)).node
        action = node.get_action_iface()
        if action and action.get_n_actions():
            assert action.do_action(0), f"{name} did not take it"
            return
        place = node.get_component_iface().get_extents(self.atspi.CoordType.WINDOW)
        x, y = place.x + place.width // 2, place.y + place.height // 2
        self.desktop.say("xdotool", "mousemove", str(x), str(y), "click", "1")

    def is_checked(self, name):
        """Whether the button of this name is the chosen one."""
        return self.find(name, *CONTROLS).states.contains(self.atspi.StateType.CHECKED)

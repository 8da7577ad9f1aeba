#!/usr/bin/env python3
"""xfce.py WINDOW.deb: the item of the packaged applet in the panel of a desktop that people use."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from desktop import Desktop, until
from machine import PANEL, Bus, Installed, Machine

# A panel of 40 pixels at the top of the screen, with nothing in it but what programs put there.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="40"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/></property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="systray">
      <property name="hide-new-items" type="bool" value="false"/>
      <property name="square-icons" type="bool" value="true"/>
    </property>
  </property>
</channel>
"""
# Where the panel draws the first item, and where its menu comes: on nothing, for there is no desktop below.
PLACE = (20, 20)
ITEM_AREA = "32x32+4+4"
MENU_AREA = "100x60+10+60"


class Xfce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        subprocess.run(["dpkg-deb", "-x", PACKAGE, place.name], check=True)
        root = Path(place.name) / "usr"
        cls.desktop = Desktop("900x900", XDG_DATA_DIRS=f"{root / 'share'}:/usr/share", XDG_CURRENT_DESKTOP="XFCE")
        cls.addClassCleanup(cls.desktop.__exit__)
        settings = cls.desktop.directory / ".config/xfce4/xfconf/xfce-perchannel-xml/xfce4-panel.xml"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS)
        cls.machine = Machine(cls.desktop)
        cls.machine.until_state("running")
        session = Bus.of(cls.desktop)
        # It waits for a window manager otherwise.
        cls.desktop.run("xfce4-panel", "--disable-wm-check", stderr=subprocess.DEVNULL)
        until("the panel is there", lambda: session.has(PANEL))
        packaged = type("Packaged", (Installed,), {"program": root / "bin/pandemonium-applet"})
        cls.applet = packaged(cls.desktop, cls.machine, session, "--hidden")

    def picture(self, area=ITEM_AREA):
        """The sum of the pixels there; nothing while they are all alike."""
        told = self.desktop.say("import", "-window", "root", "-crop", area, "-format", "%k %#", "info:")
        colours, picture = told.split()
        return picture if int(colours) > 1 else None

    def click(self, button):
        self.desktop.say("xdotool", "mousemove", *map(str, PLACE), "click", str(button))

    def test_1_its_icon_is_drawn(self):
        until("there is a picture", self.picture)

    def test_2_its_menu_switches_the_mode_and_the_icon_with_it(self):
        before = until("there is a picture", self.picture)
        self.click(3)
        until("the menu is open", lambda: self.picture(MENU_AREA))
        self.desktop.say("xdotool", "key", "--delay", "200", "Down", "Down", "Down", "Return")
        until("it is off", lambda: self.machine.get("RequestedMode") == "off")
        until("the icon is another", lambda: self.picture() not in (before, None))

    def test_3_a_click_opens_the_window(self):
        self.assertFalse(self.applet.is_shown())
        self.click(1)
        until("the window is there", self.applet.is_shown)


if __name__ == "__main__":
    PACKAGE = sys.argv[1]
    unittest.main(argv=sys.argv[:1], verbosity=2)

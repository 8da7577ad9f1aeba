#!/usr/bin/env python3
"""pictures.py DIRECTORY [VARIANT...]: pictures of every page of the demo in every variant, small enough to keep."""

import sys
import time
from pathlib import Path

from desktop import Desktop, Applet, until
from hands import Hands

# Width and height in logical pixels, and what the environment says.
VARIANTS = {
    "light": (860, 800, {}),
    "dark": (860, 800, {"ADW_DEBUG_COLOR_SCHEME": "prefer-dark"}),
    "narrow": (360, 720, {}),
    "contrast": (860, 800, {"ADW_DEBUG_HIGH_CONTRAST": "1"}),
    "rtl": (860, 800, {"LC_ALL": "ar_EG.UTF-8"}),
    "narrow-rtl": (360, 720, {"LC_ALL": "ar_EG.UTF-8"}),
    "double": (860, 800, {"GDK_SCALE": "2"}),
    "double-narrow": (360, 720, {"GDK_SCALE": "2"}),
}
PAGES = ["overview", "processes", "preferences"]
# At 40 seconds in one, this is the whole chart.
WARM_UP_SECONDS = 9


def take(desktop, directory, variant):
    """Every page in one variant."""
    width, height, environment = VARIANTS[variant]
    scale = int(environment.get("GDK_SCALE", "1"))
    applet = Applet(desktop, "--demo-speed", "40", **environment)
    applet.focus()
    applet.resize(width * scale, height * scale)
    hands = Hands(desktop, applet.process.pid)
    time.sleep(WARM_UP_SECONDS)
    for number, page in enumerate(PAGES, 1):
        hands.keys(f"alt+{number}")
        time.sleep(1)
        shoot(desktop, applet, directory / f"{page}-{variant}.png")
        if page == "processes":
            until("the dialog shows", lambda: open_program(desktop, hands, scale))
            time.sleep(1)
            shoot(desktop, applet, directory / f"program-{variant}.png")
            hands.keys("Escape")
    applet.end()


def open_program(desktop, hands, scale):
    """Opens the dialog of a program, whose row may go away meanwhile."""
    if "Forget What Was Learned…" in hands.names():
        return True
    component = hands.row("firefox").node.get_component_iface()
    if component:
        place = component.get_extents(hands.atspi.CoordType.WINDOW)
        x, y = (place.x + place.width // 2) * scale, (place.y + place.height // 2) * scale
        desktop.say("xdotool", "mousemove", str(x), str(y), "click", "1")
        time.sleep(1)
    return False


def shoot(desktop, applet, file):
    """A picture in no more colours than it needs."""
    applet.shot(file)
    desktop.say("convert", str(file), "-strip", "-dither", "None", "-colors", "255", f"png8:{file}")


def main():
    directory = Path(sys.argv[1])
    locales = directory / ".locales"
    locales.mkdir(parents=True, exist_ok=True)
    with Desktop("1800x1800", LOCPATH=str(locales.resolve())) as desktop:
        desktop.say("localedef", "-i", "ar_EG", "-f", "UTF-8", str(locales.resolve() / "ar_EG.UTF-8"))
        for variant in sys.argv[2:] or VARIANTS:
            take(desktop, directory, variant)
            print(variant, flush=True)
        desktop.say("rm", "-r", str(locales))


if __name__ == "__main__":
    main()

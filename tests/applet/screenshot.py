#!/usr/bin/env python3
"""screenshot.py FILE [ARGUMENTS...]: a picture of the applet's demo after it has run for a while."""

import os
import sys
import time

from desktop import Applet, Desktop

with Desktop() as desktop:
    more = {}
    if os.environ.get("PANDEMONIUM_LOCALE"):
        more["LC_ALL"] = os.environ["PANDEMONIUM_LOCALE"]
    for name in ("ADW_DEBUG_COLOR_SCHEME", "ADW_DEBUG_HIGH_CONTRAST", "GDK_DPI_SCALE"):
        if os.environ.get("PANDEMONIUM_" + name):
            more[name] = os.environ["PANDEMONIUM_" + name]
    applet = Applet(desktop, "--demo-speed", "40", *sys.argv[2:], **more)
    applet.window()
    if os.environ.get("PANDEMONIUM_SIZE"):
        applet.resize(*os.environ["PANDEMONIUM_SIZE"].split("x"))
    time.sleep(9)
    applet.shot(sys.argv[1])

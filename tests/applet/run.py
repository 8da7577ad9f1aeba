#!/usr/bin/env python3
"""run.py [NAME...]: the applet on a desktop without a screen, driven as assistive technology and a keyboard drive it,
beside the real daemon with a scripted kernel. Names are those of tests, such as test_modes.Modes."""

import sys
import unittest

from desktop import Desktop

MODULES = ["test_modes", "test_processes", "test_exchange", "test_preferences", "test_panel", "test_crowd"]

if __name__ == "__main__":
    tests = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:] or MODULES)
    with Desktop() as desktop:
        # All of them are on one desktop; every case knows it.
        unittest.TestCase.desktop = desktop
        result = unittest.TextTestRunner(verbosity=2).run(tests)
    sys.exit(not result.wasSuccessful())

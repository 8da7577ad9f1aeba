# SPDX-License-Identifier: GPL-2.0-only
"""Logs a user in from elsewhere, as a server for that does: elsewhere.py USER, as root."""

import os
import pty
import sys
import time

pid, terminal = pty.fork()
if pid == 0:
    os.execvp("login", ["login", "-h", "elsewhere.example", "-f", sys.argv[1]])
while os.waitpid(pid, os.WNOHANG) == (0, 0):
    try:
        os.write(1, os.read(terminal, 4096))
    except OSError:
        # login hangs the terminal up once, and opens it anew.
        time.sleep(0.1)

#!/bin/sh
# More CPUs than the machine really has: attaches and works.
# cpus: 12
# timeout: 300
set -eu
. ./lib/daemon.sh
start_daemon
stress-ng -c "$(nproc)" -f 1 --affinity 1 --timeout 10s >/dev/null 2>&1
still_ours stress-ng
hackbench -g 2 -l 20 >/dev/null
still_ours hackbench
tail -n 1 /tmp/daemon.log
stop_daemon

#!/bin/sh
# In exact virtual time: no task that wants to run waits for a second, however many and of whatever kind.
# cpus: 1 4
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
start_daemon
pandemonium-workload starve --threads $((8 * $(nproc))) --seconds 2 --limit-ms 1000
still_ours starve
pandemonium-workload nice-mix --seconds 2
still_ours nice-mix
stop_daemon

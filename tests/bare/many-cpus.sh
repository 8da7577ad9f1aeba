#!/bin/sh
# 64 CPUs, two sockets of 16 cores with two siblings each: attaches, works, and leaves.
# cpus: 64
# time: single
# qemu: -smp 64,sockets=2,cores=16,threads=2
# timeout: 900
set -eu
. ./lib/daemon.sh
[ "$(nproc)" = 64 ] || fail "not 64 CPUs"
[ "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)" = 0-1 ] || fail "no siblings"
start_daemon
pandemonium-workload hog --threads 80 --seconds 5
still_ours hogs
hackbench -g 2 -l 20 >/dev/null
still_ours hackbench
tail -n 1 /tmp/daemon.log
stop_daemon

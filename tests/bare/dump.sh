#!/bin/sh
# SysRq-D: the scheduler's own view of queues, CPUs and tasks is in the kernel's debug dump.
# time: single
set -eu
. ./lib/daemon.sh
start_daemon
pandemonium-workload hog --threads 6 --seconds 6 >/dev/null &
sleep 1
echo 1 >/sys/kernel/tracing/events/sched_ext/sched_ext_dump/enable
echo D >/proc/sysrq-trigger
dumped() { grep -q "$1" /sys/kernel/tracing/trace; }
wait_for 50 dumped 'node 0: interactive' || fail "no queues"
wait_for 50 dumped 'since_batch=' || fail "no CPUs"
wait_for 50 dumped 'lat_cri=' || fail "no tasks"
still_ours "a debug dump"
stop_daemon

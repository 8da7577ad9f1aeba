#!/bin/sh
# SysRq-S is the administrator's wish: the kernel's scheduler is back at once and stays.
# time: virtual
set -eu
. ./lib/daemon.sh
start_daemon
pandemonium-workload hog --threads 4 --seconds 5 >/dev/null &
sleep 1
echo S >/proc/sysrq-trigger
wait_for 10 is_disabled || fail "still loaded a second after SysRq-S"
sleep 2
is_disabled || fail "it came back by itself"
grep -q sysrq /tmp/daemon.log || fail "the reason was not reported"

#!/bin/sh
# A task that a realtime hog keeps off its only CPU: the kernel ends the scheduler, says why, and it comes back.
# kernels: oldest
# time: single
set -eu
. ./lib/daemon.sh
start_daemon
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
# The realtime hog comes to a CPU that runs something. One that idles may be taking a task at that moment, which nobody
# can give back then (docs/decisions/0016).
/usr/bin/taskset -c 1 pandemonium-workload hog --threads 1 --seconds 60 >/dev/null &
sleep 2
/usr/bin/chrt -f 50 /usr/bin/taskset -c 1 pandemonium-workload hog --threads 1 --seconds 45 >/dev/null &
wait_for 900 grep -q "stall" /tmp/daemon.log || fail "no stall was reported"
grep stall /tmp/daemon.log
back() { [ "$(grep -c attached /tmp/daemon.log)" -ge 2 ] && is_ours; }
wait_for 600 back || fail "it did not come back"
stop_daemon

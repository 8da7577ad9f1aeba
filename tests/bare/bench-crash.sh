#!/bin/sh
# In exact virtual time: a scheduler that the kernel ends in the middle of a benchmark: the benchmark fails, says so, and keeps what the
# scheduler said, the kernel's log and the trace up to then; what it measured of that round is no result.
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
pandemonium-workload suite --trace --seconds 10 --rows wakeup --scheduler adaptive \
  --start 'pandemoniumd --no-bus --telemetry --state-dir /tmp/state' >/tmp/results 2>/tmp/daemon.log &
bench=$!
wait_for 300 is_ours || fail "the benchmark did not load the scheduler"
sleep 2
echo S >/proc/sysrq-trigger
status=0
wait $bench || status=$?
[ "$status" = 1 ] || fail "status $status instead of 1"
[ ! -s /tmp/results ] || fail "results of a crash"
grep 'the scheduler is disabled now, and was enabled during wakeup' /tmp/daemon.log || fail "not said"
grep -q '^scheduler: .*sysrq' /tmp/daemon.log || fail "nothing of the scheduler"
grep -q '^kernel: .*sched_ext' /tmp/daemon.log || fail "nothing of the kernel"
[ "$(grep -c '^trace: .*sched_switch: .*wl-spin' /tmp/daemon.log)" -gt 100 ] || fail "no trace"
# Of the time up to the end, not of the seconds after it in which the workload went on.
ended=$(sed -n 's/^kernel: \[ *\([0-9]*\)\..*sysrq: Disable.*/\1/p' /tmp/daemon.log)
last=$(sed -n 's/^trace: .* \([0-9]*\)\.[0-9]*: sched_.*/\1/p' /tmp/daemon.log | tail -n 1)
echo "ended in second $ended, the trace in second $last"
[ "$last" -le $((ended + 1)) ] || fail "the trace went on"
[ "$(ls /tmp/pandemonium-bench-* 2>/dev/null | wc -l)" = 0 ] || fail "files were left behind"

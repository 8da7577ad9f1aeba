#!/bin/sh
# In exact virtual time: a storm of wake-ups is a burst, by their number or by how suddenly they came; hogs are
# none.
# cpus: 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
. ./lib/numbers.sh

bursts() { grep -c 'BURST' /tmp/daemon.log || true; }


start_daemon
pandemonium-workload hog --threads 8 --seconds 600 >/dev/null &
hogs=$!
# Their start is one.
sleep 3
before=$(bursts)
sleep 2.5
[ "$(bursts)" = "$before" ] || fail "a burst of hogs"
hackbench -g 1 -l 50
sleep 1
[ "$(bursts)" -gt "$before" ] || fail "no burst of hackbench"
# The line is about the second before it, and on this crowded machine it may come late.
sleep 4
if grep '^d/s' /tmp/daemon.log | tail -n 1 | grep BURST; then fail "the burst did not end"; fi
kill $hogs
still_ours hackbench
stop_daemon
echo "BURST in $(bursts) lines, by wake-ups $(total bursts_wakeups), by change $(total bursts_cusum)"
[ "$(total bursts_wakeups)" -gt 0 ] || fail "no burst by the number of wake-ups"
[ "$(total bursts_cusum)" -gt 0 ] || fail "no burst by change"

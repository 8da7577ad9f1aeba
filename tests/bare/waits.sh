#!/bin/sh
# In exact virtual time: how long wake-ups wait by the scheduler's own account is what those see that wait. Beside hogs that
# go from CPU to CPU all the time, each looks at its clock.
# cpus: 4
# kernels: newest oldest
# time: virtual
set -eu
. ./lib/daemon.sh

start_daemon --mode bpf
sleep 2
lines=$(wc -l </tmp/daemon.log)
pandemonium-workload mixed --seconds 5
tail -n +$((lines + 2)) /tmp/daemon.log | sed -n 's/^d.s: .* p99: \([0-9]*\)us .*/\1/p' | head -n 4 >/tmp/p99
echo "p99 by the scheduler's account, us: $(tr '\n' ' ' </tmp/p99)"
[ "$(wc -l </tmp/p99)" = 4 ] || fail "no four seconds of telemetry"
[ "$(sort -n /tmp/p99 | tail -n 1)" -le 500 ] || fail "a wake-up does not wait for so long"
still_ours "a mixed load"
stop_daemon

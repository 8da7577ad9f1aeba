#!/bin/sh
# In exact virtual time: a crowd of threads that wake each other costs a timer's wake-up no more than under the
# kernel's own scheduler.
# cpus: 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
. ./lib/numbers.sh

# probe: the wake-up latency of a timer, 99th percentile in microseconds, beside hackbench.
probe() {
  hackbench -g 4 -l 1000 >/dev/null 2>&1 &
  crowd=$!
  sleep 0.5
  pandemonium-workload probe --seconds 1 --json >/tmp/probe
  kill -0 $crowd || fail "the crowd was gone before the probe"
  kill $crowd
  wait $crowd || true
  field wake_p99_us /tmp/probe
}

kernel=$(probe)
start_daemon
ours=$(probe)
still_ours hackbench
stop_daemon
echo "99th percentile: $ours us, $kernel us under the kernel's own scheduler; guarded $(total guarded) times"
[ "$ours" -le "$kernel" ] || fail "the probe waited longer"
[ "$(total guarded)" -gt 0 ] || fail "nobody was crowded out"

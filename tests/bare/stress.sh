#!/bin/sh
# Hard work with tasks that change their affinity all the time: never ejected.
# cpus: 4
# programs: stress-ng
set -eu
. ./lib/daemon.sh
start_daemon
stress-ng --aggressive -M -c "$(nproc)" -f "$(nproc)" --affinity "$(nproc)" --timeout 25s >/tmp/stress.log 2>&1 ||
  fail "stress-ng failed: $(tail -n 3 /tmp/stress.log)"
still_ours stress-ng
pandemonium-workload affinity-churn --threads $((4 * $(nproc))) --seconds 5
still_ours "affinity churn"
hackbench -g 4 -l 100 >/dev/null
still_ours hackbench
pandemonium-workload mixed --seconds 5 | tail -n 1
still_ours "mixed work"
tail -n 2 /tmp/daemon.log
stop_daemon

#!/bin/sh
# In exact virtual time: a mixed load moves every counter of the dispatch order, and an idle machine none of them.
# cpus: 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
. ./lib/cpus.sh

wait_for_rest
start_daemon --mode bpf
sleep 3
stop_daemon
echo "idle: $(grep '^totals:' /tmp/daemon.log)"
for name in tick_preempts overflow_rescues starvation_rescues sojourn_rescues deficit_forced guarded; do
  [ "$(total $name)" = 0 ] || fail "$name on an idle machine"
done

start_daemon --mode bpf
# Nobody else wants the CPU at the end of its slices.
pandemonium-workload hog --threads 1 --seconds 1 >/dev/null
# The third waits for turns of two ticks, which is longer than a queue should.
pandemonium-workload hog --threads 3 --seconds 4 >/dev/null
pandemonium-workload hog --threads 6 --seconds 6 >/dev/null &
# The others overtake it until it has waited for too long.
nice -n 19 pandemonium-workload hog --threads 1 --seconds 6 >/dev/null &
sleep 3
pandemonium-workload sleepers --threads 12 --seconds 3 >/dev/null &
pandemonium-workload pipe --seconds 3 >/dev/null &
sleep 4
still_ours "a mixed load"
stop_daemon
echo "mixed: $(grep '^totals:' /tmp/daemon.log)"
for name in dispatches idle_placements shared tick_preempts keeps kicks_hard wakeups requeues \
  overflow_rescues starvation_rescues sojourn_rescues deficit_forced; do
  [ "$(total $name)" -gt 0 ] || fail "$name never happened"
done
# Batch work is forced after six other runs on two CPUs, so not more often than every seventh time. Interactive work that
# found no room is forced too, in runs so short that the turn goes on with the next one.
[ $((($(total deficit_forced) - $(total guarded)) * 7)) -le "$(total dispatches)" ] || fail "batch work is forced too often"
grep -q '^d/s: [1-9].* shared: [1-9].* preempt: [1-9].* kick: H=[1-9].* enq: W=[1-9][0-9]* R=[1-9]' /tmp/daemon.log ||
  fail "the telemetry does not show it"

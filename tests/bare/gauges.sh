#!/bin/sh
# In exact virtual time: what the telemetry says of this moment is what goes on. Each gauge moves with the
# load that it is about, and an idle machine shows none.
# cpus: 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh

# phase NAME: from here on, the functions below are about the telemetry that follows.
phase() {
  echo "$1"
  start=$(wc -l </tmp/daemon.log)
}
telemetry() { tail -n +$((start + 1)) /tmp/daemon.log | grep '^d/s'; }
# values EXPRESSION: what its group matches in each line of the phase.
values() { telemetry | sed -n "s|.*$1.*|\1|p"; }
largest() { values "$1" | sort -n | tail -n 1; }
smallest() { values "$1" | sort -n | head -n 1; }
io=' sleep: io=\([0-9]*\)%'
sojourn=' sjrn: \([0-9]*\)ms'
running=' cpus: \([0-9]*\)/'
interactive=' queued: \([0-9]*\)/'
batch=' queued: [0-9]*/\([0-9]*\) '
slice=' slice: \([0-9]*\)us'
kicks=' S=\([0-9]*\) '
regime='\[\([A-Z]*\)'

start_daemon --mode bpf
sleep 2
phase "nothing"
sleep 4
telemetry
for gauge in "$sojourn" "$interactive" "$batch"; do
  [ "$(largest "$gauge")" = 0 ] || fail "not zero on an idle machine: $gauge"
done
[ "$(values "$regime" | sort -u)" = LIGHT ] || fail "an idle machine is not LIGHT"

phase "short sleeps"
pandemonium-workload probe --interval-us 2000 --seconds 4 >/dev/null
telemetry
[ "$(largest "$io")" -ge 90 ] || fail "sleeps of 2 ms do not count as short"
phase "long sleeps"
pandemonium-workload probe --interval-us 50000 --seconds 4 >/dev/null
telemetry
[ "$(values "$io" | tail -n 1)" -le 50 ] || fail "sleeps of 50 ms count as short"

phase "six hogs"
pandemonium-workload hog --threads 6 --seconds 5 >/dev/null
telemetry
[ "$(largest "$batch")" -ge 4 ] || fail "four hogs wait, and nobody sees it"
[ "$(largest "$batch")" -le 8 ] || fail "more wait than there are"
[ "$(largest "$interactive")" = 0 ] || fail "hogs wait as interactive"
# One at most: the daemon, which looks.
[ "$(largest "$running")" -le 1 ] || fail "hogs run as interactive"
# Six share rounds of 8 ms on two CPUs: 3.2 ms each.
[ "$(smallest "$slice")" -ge 3000 ] || fail "hogs are granted short slices"
[ "$(values "$regime" | tail -n 1)" = HEAVY ] || fail "six hogs on two CPUs are not HEAVY"
# Hogs change at ticks, and each look comes in the same phase of those, perhaps when the queue has just been served.
# A daemon that starts at another time looks in another.
for ms in 1 2 3 4 5 6 7 8; do
  [ "$(largest "$sojourn")" = 0 ] || break
  stop_daemon
  sleep 0.00$ms
  start_daemon --mode bpf
  phase "six hogs, seen in another phase"
  pandemonium-workload hog --threads 6 --seconds 3 >/dev/null
  telemetry
done
[ "$(largest "$sojourn")" -ge 1 ] || fail "a queue that is never empty never has a sojourn"

phase "one hog"
pandemonium-workload hog --threads 1 --seconds 5 >/dev/null
telemetry
[ "$(values "$regime" | tail -n 1)" = MIXED ] || fail "a hog on one of two CPUs is not MIXED"

phase "sleepers"
pandemonium-workload sleepers --threads 24 --seconds 5 >/dev/null
telemetry
[ "$(largest "$running")" -gt 0 ] || fail "interactive tasks run, and nobody sees it"
[ "$(largest "$interactive")" -gt 0 ] || fail "no interactive task was seen to wait"
[ "$(smallest "$slice")" -lt 2000 ] || fail "sleepers are granted the slices of hogs"

phase "a hog whose CPU is taken from it while the other one is idle"
pandemonium-workload hog --threads 1 --seconds 4 >/dev/null &
hog=$!
sleep 0.5
for cpu in 0 1 0 1; do
  taskset -c $cpu chrt -f 10 sh -c 'i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done'
done
wait $hog
telemetry
[ "$(largest "$kicks")" -gt 0 ] || fail "no task that lost its CPU went to an idle one"
still_ours "all of it"
stop_daemon

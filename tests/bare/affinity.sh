#!/bin/sh
# In exact virtual time: where siblings share a second-level cache, sleepers come back to it, and more of them under a middling
# load in adaptive mode, where closeness is strong.
# cpus: 4
# kernels: newest
# qemu: -smp 4,sockets=1,cores=2,threads=2 -cpu max,vendor=GenuineIntel
# time: virtual
# timeout: 130
set -eu
. ./lib/daemon.sh
. ./lib/numbers.sh

near_cpus=$(cat /sys/devices/system/cpu/cpu0/cache/index2/shared_cpu_list)
[ "$near_cpus" = 0-1 ] || fail "the machine is not what this test needs: CPU 0 shares its cache with $near_cpus"

# load OPTION...: interactive work that leaves a third of the machine idle.
load() {
  start_daemon "$@"
  pandemonium-workload duty --threads 12 --percent 10 --period-ms 20 --seconds 3 &
  pandemonium-workload duty --threads 12 --percent 9 --period-ms 23 --seconds 3
  wait $!
  still_ours "the load"
  stop_daemon
  grep '^d/s' /tmp/daemon.log | sed 's/.*\(idle: [^ ]*\).*\(L2: .*\) procdb.*\(\[.*\)/\1 \2 \3/'
}
# hits: percent of interactive starts near, in the last line of the telemetry.
hits() { sed -n 's/^d.* L2: B=[^ ]* I=\([0-9]*\)% .*/\1/p' /tmp/daemon.log | tail -n 1; }

load --mode bpf
weak_placements=$(total l2_placements) weak_waits=$(total strong_waits) weak_hits=$(hits)
load
echo "fixed knobs: $weak_placements placements near, $weak_waits waits, $weak_hits % hits"
echo "adaptive: $(total l2_placements) placements near, $(total strong_waits) waits, $(hits) % hits"
[ "$weak_placements" -gt 0 ] || fail "nobody came back to the cache"
[ "$weak_waits" = 0 ] || fail "$weak_waits waited although closeness was weak"
[ "$(hits)" -gt "$weak_hits" ] || fail "strong closeness is no closer"

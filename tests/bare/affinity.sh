#!/bin/sh
# In exact virtual time: where siblings share a second-level cache, sleepers come back to it; with fixed knobs
# nobody waits for it.
# cpus: 4
# kernels: newest
# qemu: -smp 4,sockets=1,cores=2,threads=2 -cpu max,vendor=GenuineIntel
# time: virtual
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
load --mode bpf
echo "fixed knobs: $(total l2_placements) placements near, $(total strong_waits) waits"
[ "$(total l2_placements)" -gt 0 ] || fail "nobody came back to the cache"
[ "$(total strong_waits)" = 0 ] || fail "$(total strong_waits) waited although closeness was weak"
load
echo "adaptive: $(total l2_placements) placements near, $(total strong_waits) waits"
[ "$(total l2_placements)" -gt 0 ] || fail "nobody came back to the cache in adaptive mode"
grep -q '^d/s.* L2: B=[^ ]* I=[0-9]*% ' /tmp/daemon.log || fail "no hits in the telemetry"

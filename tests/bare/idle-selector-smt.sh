#!/bin/sh
# In exact virtual time, on two cores of two siblings: two tasks get a core each.
# cpus: 4
# kernels: newest
# time: virtual
# timeout: 200
# qemu: -cpu max,-rdrand,-rdseed,vendor=GenuineIntel -smp 4,sockets=1,cores=2,threads=2
set -eu
. ./lib/daemon.sh
. ./lib/cpus.sh
cpu0=/sys/devices/system/cpu/cpu0
[ "$(cat $cpu0/topology/thread_siblings_list) $(cat $cpu0/cache/index2/shared_cpu_list)" = "0-1 0-1" ] || fail "no siblings"

# core A B: how busy two siblings were together, percent.
core() { busy "$1" "$2" | awk '{ n += $1 } END { print n }'; }

start_daemon
lesser=0
for round in 1 2 3; do
  pandemonium-workload hog --threads 2 --seconds 2 >/dev/null &
  hogs=$!
  sleep 0.3
  mark
  sleep 1.5
  one=$(core 0 1) other=$(core 2 3)
  echo "round $round: the cores were busy for $one and $other percent"
  lesser=$((lesser + (one < other ? one : other)))
  wait "$hogs"
done
still_ours "siblings"
stop_daemon
# Whoever is preempted while both cores have work may share one for a while. Without cores in mind it is all the time.
[ "$lesser" -gt 180 ] || fail "a core was idle while two tasks shared the other"

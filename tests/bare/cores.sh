#!/bin/sh
# In exact virtual time: two hogs that were held on one core spread over both once they may.
# cpus: 4
# kernels: newest
# time: virtual
# qemu: -smp 4,sockets=1,cores=2,threads=2
set -eu
. ./lib/daemon.sh
. ./lib/cpus.sh

[ "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)" = 0-1 ] || fail "CPUs 0 and 1 are no siblings"
start_daemon
hogs=
for cpu in 0 1; do
  taskset -c $cpu pandemonium-workload hog --threads 1 --seconds 600 >/dev/null &
  hogs="$hogs $!"
done
sleep 1
mark
sleep 1
busy 0 1 2 3
[ "$(busy_cpus 90 0 1)" = 2 ] || fail "the hogs do not share a core to begin with"
for hog in $hogs; do
  taskset -a -c -p 0-3 "$hog" >/dev/null
done
sleep 0.5
mark
sleep 2
busy 0 1 2 3
# A third of a core is a margin for what this script runs meanwhile, which moves them about.
[ "$(busy 0 1 | awk '{ n += $1 } END { print n }')" -le 133 ] || fail "the hogs still share a core"
kill $hogs
still_ours "two hogs on two cores"
stop_daemon

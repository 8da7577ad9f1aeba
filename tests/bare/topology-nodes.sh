#!/bin/sh
# Two NUMA nodes of two cores with two siblings each: hard work on both, and neither rests while the other has work.
# cpus: 8
# programs: stress-ng
# qemu: -smp 8,sockets=2,cores=2,threads=2 -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=0,cpus=0-3,memdev=m0 -numa node,nodeid=1,cpus=4-7,memdev=m1
set -eu
. ./lib/daemon.sh
. ./lib/cpus.sh
[ "$(cat /sys/devices/system/node/online)" = 0-1 ] || fail "not two nodes"
[ "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)" = 0-1 ] || fail "no siblings"
start_daemon
stress-ng -c 8 -f 2 --affinity 2 --timeout 5s >/dev/null 2>&1 || fail "stress-ng failed"
still_ours stress-ng
pandemonium-workload starve --threads 32 --seconds 3 --limit-ms 10000 || fail "a task starved"
still_ours starve
stop_daemon

# One task more than CPUs: whoever ends a slice finds nothing on its own node and one task on the other.
start_daemon
pandemonium-workload hog --threads 9 --seconds 6 >/dev/null
still_ours "more tasks than CPUs"
stop_daemon
echo "$(total steals) steals"
[ "$(total steals)" -gt 20 ] || fail "the nodes do not help each other"

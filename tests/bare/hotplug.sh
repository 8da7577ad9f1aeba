#!/bin/sh
# CPUs come and go under load, with tasks pinned to them: not even a restart.
# cpus: 4
# time: single
# start: own
set -eu
. ./lib/daemon.sh
start_daemon
pandemonium-workload hog --threads 8 --pin --seconds 25 >/dev/null &
hog=$!
pandemonium-workload sleepers --threads 8 --seconds 25 >/dev/null &
all_are_bound() { [ "$(grep -lE '^Cpus_allowed_list:[[:space:]]*[0-9]$' /proc/$hog/task/*/status | wc -l)" = 8 ]; }
wait_for 100 all_are_bound || fail "hogs are not bound"
for round in 1 2 3 4 5 6; do
  for cpu in 3 2 1; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online; done
  still_ours "round $round, one CPU left"
  for cpu in 1 2 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online; done
  still_ours "round $round, all back"
done
wait_for 100 grep -q '^d/s' /tmp/daemon.log
stop_daemon

#!/bin/sh
# In exact virtual time: a realtime task that never yields takes one CPU; work that may run elsewhere does.
# cpus: 2
# time: virtual
set -eu
. ./lib/daemon.sh
start_daemon
pandemonium-workload hog --threads 4 --seconds 4 >/tmp/hogs &
hogs=$!
pandemonium-workload probe --seconds 4 >/tmp/probe &
probe=$!
sleep 1
/usr/bin/chrt -f 50 /usr/bin/taskset -c 1 pandemonium-workload hog --threads 1 --seconds 2 >/dev/null
wait "$hogs"
wait "$probe"
cat /tmp/hogs /tmp/probe
still_ours "a realtime hog"
gap=$(sed -n 's/.*longest gap \([0-9]*\)\..*/\1/p' /tmp/hogs)
[ "$gap" -lt 1000 ] || fail "a task waited for $gap ms"

echo "a lone task moves to the CPU that is free"
pandemonium-workload hog --threads 1 --seconds 4 >/tmp/lone &
lone=$!
sleep 1
for cpu in 0 1; do
  /usr/bin/chrt -f 50 /usr/bin/taskset -c $cpu pandemonium-workload hog --threads 1 --seconds 1 >/dev/null
done
wait "$lone"
cat /tmp/lone
gap=$(sed -n 's/.*longest gap \([0-9]*\)\..*/\1/p' /tmp/lone)
[ "$gap" -lt 100 ] || fail "it waited for $gap ms beside an idle CPU"
still_ours "a lone task"
stop_daemon

#!/bin/sh
# In exact virtual time the second of two CPUs has its timers late: a thread that sleeps by timers, and had to stay there until now,
# goes to the first beside hogs that may run anywhere, and stays.
# cpus: 2
# kernels: newest oldest
# time: virtual
set -eu
. ./lib/daemon.sh

# On which CPU the thread that sleeps by timers ran last.
cpu_of_probe() { grep -h wl-probe /proc/"$probe"/task/*/stat | cut -d ' ' -f 39; }

start_daemon
pandemonium-workload hog --threads 4 --seconds 6 &
hogs=$!
taskset -c 1 pandemonium-workload probe --seconds 6 --json >/tmp/probe &
probe=$!
sleep 1
[ "$(cpu_of_probe)" = 1 ] || fail "it did not stay where it had to"
taskset -a -p -c 0,1 "$probe" >/dev/null
sleep 2
# Its timers have been due 200 times a second since.
elsewhere=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
  sleep 0.1
  [ "$(cpu_of_probe)" = 0 ] || elsewhere=$((elsewhere + 1))
done
wait $probe
wait $hogs
still_ours late
stop_daemon
cat /tmp/probe
[ "$elsewhere" -le 1 ] || fail "in $elsewhere of 10 moments it was not on the CPU that is quicker"

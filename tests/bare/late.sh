#!/bin/sh
# In exact virtual time the second of two CPUs has its timers late: a thread that sleeps by timers, and had to stay there until now,
# goes to the first beside hogs that may run anywhere, and stays.
# cpus: 2
# kernels: newest oldest
# time: virtual
set -eu
. ./lib/daemon.sh

trace=/sys/kernel/tracing

# How often the thread that sleeps by timers was switched to on a CPU.
switches_on() { sed -n "/\[00$1\].*sched_switch:/p" "$trace/trace" | wc -l; }

# On which CPU it ran last.
cpu_of_probe() { grep -h wl-probe /proc/"$probe"/task/*/stat | cut -d ' ' -f 39; }

start_daemon
echo 'next_comm == "wl-probe"' >"$trace/events/sched/sched_switch/filter"
pandemonium-workload hog --threads 4 --seconds 6 &
hogs=$!
taskset -c 1 pandemonium-workload probe --seconds 6 --json >/tmp/probe &
probe=$!
sleep 1
[ "$(cpu_of_probe)" = 1 ] || fail "it did not stay where it had to"
taskset -a -p -c 0,1 "$probe" >/dev/null
sleep 1
echo 1 >"$trace/events/sched/sched_switch/enable"
wait $probe
echo 0 >"$trace/events/sched/sched_switch/enable"
wait $hogs
still_ours late
stop_daemon
cat /tmp/probe
here=$(switches_on 0)
elsewhere=$(switches_on 1)
echo "it ran $here times on the CPU that is quicker, $elsewhere times on the other"
[ "$((here + elsewhere))" -ge 500 ] || fail "it ran too rarely to tell"
[ "$elsewhere" -le $((here / 4)) ] || fail "it ran too often on the CPU whose timers are late"

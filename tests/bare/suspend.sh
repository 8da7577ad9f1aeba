#!/bin/sh
# The machine sleeps and an alarm wakes it, under load: the scheduler stays loaded, and a longrun is what waits
# after that.
# cpus: 2
# kernels: newest
# time: virtual
# qemu: -rtc clock=rt
set -eu
. ./lib/daemon.sh
# Virtual time stands still while the machine sleeps, so the clock that wakes it is a real one. The alarm is
# late enough that a slow host is asleep by then, too.

uptime() { cut -d. -f1 /proc/uptime; }
# asleep: the telemetry since the machine slept.
asleep() { tail -n +$((lines + 1)) /tmp/daemon.log | grep '^d/s'; }

start_daemon
sleep 2
pandemonium-workload hog --threads 8 --seconds 14 >/tmp/hogs &
hogs=$!
sleep 1
echo 0 >/sys/class/rtc/rtc0/wakealarm
echo +20 >/sys/class/rtc/rtc0/wakealarm
before=$(uptime)
lines=$(wc -l </tmp/daemon.log)
echo mem >/sys/power/state
away=$(($(uptime) - before))
dmesg | grep 'PM: suspend exit' || fail "the machine did not sleep"
[ "$away" -ge 5 ] || fail "the machine was away for only $away s"
still_ours "a suspend"
sleep 1
if asleep | grep LONGRUN; then fail "the suspend counts as waiting"; fi
wait $hogs
cat /tmp/hogs
asleep | grep -q LONGRUN || fail "no longrun of hogs after the suspend"
sleep 2.5
if asleep | tail -n 1 | grep LONGRUN; then fail "a longrun without load"; fi
still_ours "a suspend and what follows"
stop_daemon

#!/bin/sh
# In exact virtual time, on two caches of two CPUs: whoever wakes gets an idle CPU, and no CPU rests while a task waits.
# cpus: 4
# kernels: newest
# time: virtual
# qemu: -smp 4,sockets=2,cores=2,threads=1
set -eu
. ./lib/daemon.sh
. ./lib/cpus.sh
[ "$(cat /sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list)" = 0-1 ] || fail "not two caches"

probe() { "$@" pandemonium-workload probe --interval-us 1000 --seconds 2; }
hog_on() { /usr/bin/taskset -c "$1" pandemonium-workload hog --threads 1 --seconds 3 >/dev/null & }

wait_for_rest
for option in '' --no-idle-selector; do
  echo "selector: ${option:-on}"
  # shellcheck disable=SC2086 # no option is no word
  start_daemon $option
  pandemonium-workload hog --threads 2 --seconds 3 >/dev/null &
  hogs=$!
  probe
  wait "$hogs"
  echo "may run on CPUs 1 and 2, of which 1 is busy"
  hog_on 0
  hogs=$!
  hog_on 1
  probe /usr/bin/taskset -c 1,2
  wait "$hogs" $!
  echo "as many tasks as CPUs"
  pandemonium-workload hog --threads 4 --seconds 3 >/dev/null &
  hogs=$!
  sleep 1
  mark
  sleep 1
  busy 0 1 2 3
  [ "$(busy_cpus 80 0 1 2 3)" = 4 ] || fail "a CPU was idle while tasks waited"
  wait "$hogs"
  still_ours "the idle selector"
  stop_daemon
  echo "$(total idle_placements) on idle CPUs, $(total kicks_hard) by preemption, $(total wakeups) other"
  # Each probe woke 2000 times.
  [ "$(total idle_placements)" -gt 3800 ] || fail "wake-ups did not get the idle CPUs"
  [ "$(total kicks_hard)" -lt 250 ] || fail "wake-ups preempted others beside idle CPUs"
done

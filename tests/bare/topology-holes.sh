#!/bin/sh
# CPUs 1 and 3 are offline and CPU 5 never came up: it starts, uses what is there, and takes what comes.
# cpus: 6
# programs: stress-ng
# append: maxcpus=5
set -eu
. ./lib/daemon.sh
. ./lib/cpus.sh
for cpu in 1 3; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online; done
[ "$(cat /sys/devices/system/cpu/possible)" = 0-5 ] || fail "not 6 possible CPUs"
[ "$(cat /sys/devices/system/cpu/online)" = 0,2,4 ] || fail "no holes"

# all_busy CPU...: as many tasks as these CPUs keep each of them busy. They run for as long as it takes to look: a slow
# host has its own idea of seconds.
all_busy() {
  pandemonium-workload hog --threads $# --seconds 60 >/dev/null &
  hogs=$!
  sleep 1
  mark
  sleep 2
  parts=$(busy "$@")
  kill "$hogs"
  wait "$hogs" || true # ended by the signal, which is no failure
  echo "CPUs $*: $(echo "$parts" | tr "\n" " ")"
  [ "$(echo "$parts" | awk '$1 >= 60 { n++ } END { print n + 0 }')" = $# ] || fail "a CPU was idle while tasks waited"
}

start_daemon
all_busy 0 2 4
stress-ng -c 3 -f 2 --affinity 2 --timeout 5s >/dev/null 2>&1 || fail "stress-ng failed"
still_ours stress-ng
pandemonium-workload starve --threads 12 --seconds 3 --limit-ms 10000 || fail "a task starved"
still_ours starve

echo "CPUs 1 and 5 come"
for cpu in 1 5; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online; done
all_busy 0 1 2 4 5
still_ours "CPUs came"
stop_daemon

#!/bin/sh
# Tasks that hand the CPU to each other through sockets: none is ever forgotten in a queue.
# cpus: 8
set -eu
. ./lib/daemon.sh
start_daemon
for round in 1 2 3 4 5 6 7 8; do
  timeout 60 hackbench -g 2 -l 20 >/dev/null || fail "hackbench hung in round $round"
  still_ours "hackbench, round $round"
done
stop_daemon

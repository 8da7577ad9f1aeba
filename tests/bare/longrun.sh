#!/bin/sh
# In exact virtual time: batch work that has been waiting for more than two seconds is a longrun, until it ends.
# cpus: 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh

# hogs THREADS SECONDS: how many lines of the telemetry said LONGRUN meanwhile and for two seconds after.
hogs() {
  before=$(longruns)
  pandemonium-workload hog --threads "$1" --seconds "$2" >/dev/null
  sleep 2
  seen=$(($(longruns) - before))
  echo "$1 hogs for $2 s: LONGRUN in $seen lines"
}
longruns() { grep -c 'LONGRUN' /tmp/daemon.log || true; }

start_daemon
hogs 1 4
[ "$seen" = 0 ] || fail "a longrun of one hog on two CPUs"
hogs 8 1
[ "$seen" = 0 ] || fail "a longrun after a second"
hogs 8 5
[ "$seen" -ge 2 ] || fail "no longrun after two seconds"
[ "$seen" -le 4 ] || fail "the longrun did not end, or began too early"
tail -n 1 /tmp/daemon.log | grep -v LONGRUN || fail "the longrun did not end"
still_ours longruns
stop_daemon

#!/bin/sh
# What cannot work is said in one sentence with its own exit status, and harms nothing.
# kernels: newest
set -eu
. ./lib/daemon.sh

# refuses STATUS TEXT COMMAND...
# time: single
refuses() {
  wanted=$1 text=$2 status=0
  shift 2
  "$@" >/tmp/said 2>&1 || status=$?
  cat /tmp/said
  [ "$status" = "$wanted" ] || fail "status $status instead of $wanted: $*"
  grep -q "$text" /tmp/said || fail "nothing about '$text': $*"
  ! grep -qi panicked /tmp/said || fail "panicked: $*"
}

unshare -m sh -c 'mount -t tmpfs none /sys/kernel && exec pandemoniumd --no-bus' >/tmp/said 2>&1 && fail "ran without sched_ext"
cat /tmp/said
grep -q "sched_ext" /tmp/said || fail "no word of sched_ext"
refuses 5 "D-Bus" pandemoniumd --state-dir /tmp/other
refuses 2 "turbo" pandemoniumd --no-bus --mode turbo
start_daemon
refuses 4 "pandemonium" pandemoniumd --no-bus --state-dir /tmp/other
still_ours "a second daemon tried"
stop_daemon

echo "a file that may not be read stays so, so it is not tried again"
chmod 0 $sched_ext/hotplug_seq
refuses 6 "hotplug" /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +bpf,+perfmon \
  --ambient-caps +bpf,+perfmon pandemoniumd --no-bus --state-dir /tmp/other
chmod 444 $sched_ext/hotplug_seq

echo "a profile file full of noise is put aside, not lost and not in the way"
mkdir -p /tmp/state
name=$(ls /tmp/state | head -n 1)
file=/tmp/state/${name:-profiles.bin}
head -c 5000 /dev/urandom >"$file"
sum=$(md5sum <"$file")
refuses 1 "." pandemoniumd --check-profiles "$file"
start_daemon
for kept in /tmp/state/*; do
  if [ "$(md5sum <"$kept")" = "$sum" ]; then found=yes; fi
done
[ "${found-}" = yes ] || fail "the file was lost"
stop_daemon

#!/bin/sh
# It attaches, runs, leaves on SIGTERM, and leaves nothing behind; with two capabilities as well as as root.
# cpus: 2
set -eu
. ./lib/daemon.sh
# grep fails when it counts none.
# time: single
programs() { bpftool prog list | grep -c struct_ops || true; }
before=$(programs)

start_daemon
is_ours
[ "$(programs)" -gt "$before" ]
wait_for 100 grep -q '^d/s: [0-9]*.*\[[A-Z]*\]' /tmp/daemon.log || fail "no telemetry"
still_ours attach
stop_daemon
# The kernel frees them a moment later.
none_left() { [ "$(programs)" = "$before" ]; }
wait_for 100 none_left || fail "programs were left behind"

echo "as a user with CAP_BPF and CAP_PERFMON alone"
mkdir -p /tmp/own && chown pandemonium /tmp/own
/usr/bin/setpriv --reuid pandemonium --regid pandemonium --clear-groups --inh-caps +bpf,+perfmon \
  --ambient-caps +bpf,+perfmon pandemoniumd --no-bus --state-dir /tmp/own >/tmp/daemon.log 2>&1 &
daemon=$!
wait_for 300 is_ours || fail "two capabilities were not enough"
stop_daemon

echo "as a user without them"
status=0
/usr/bin/setpriv --reuid pandemonium --regid pandemonium --clear-groups --bounding-set -bpf,-perfmon,-sys_admin \
  pandemoniumd --no-bus --state-dir /tmp/own >/tmp/refused 2>&1 || status=$?
cat /tmp/refused
[ "$status" = 6 ] || fail "status $status instead of 6"
is_disabled

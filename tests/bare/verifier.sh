#!/bin/sh
# What the verifier has to look at stays little: it is what takes most of the time to attach.
# timeout: 150
# time: single
set -eu
. ./lib/daemon.sh
start_daemon -v
stop_daemon
sed -n 's/.*verified \(pandemonium_[a-z_]*\): \([0-9]*\) instructions$/\2 \1/p' /tmp/daemon.log | sort -rn >/tmp/verified
cat /tmp/verified
[ "$(wc -l </tmp/verified)" -ge 18 ] || fail "not every program was told"
[ "$(head -n 1 /tmp/verified | cut -d ' ' -f 1)" -lt 20000 ] || fail "a program is too much work for the verifier"
[ "$(tail -n 1 /tmp/verified | cut -d ' ' -f 1)" -gt 0 ] || fail "a program was not verified"

#!/bin/sh
# In exact virtual time: attaching takes less than 0.7 s, whatever the number of CPUs, and what the verifier has to look at, which is most of
# it, stays little.
# cpus: 2 8
# time: virtual
# timeout: 150
set -eu
. ./lib/daemon.sh

# Hundredths of a second since the machine started.
uptime_cs() {
  read -r up _ </proc/uptime
  echo "${up%.*}${up#*.}"
}

# Until the machine has nothing of its own to do.
sleep 2
before=$(uptime_cs)
start_daemon -v
took=$(($(uptime_cs) - before))
stop_daemon
echo "attached after ${took}0 ms"
[ "$took" -lt 70 ] || fail "attaching took too long"
sed -n 's/.*verified \(pandemonium_[a-z_]*\): \([0-9]*\) instructions$/\2 \1/p' /tmp/daemon.log | sort -rn >/tmp/verified
cat /tmp/verified
[ "$(wc -l </tmp/verified)" -ge 18 ] || fail "not every program was told"
[ "$(head -n 1 /tmp/verified | cut -d ' ' -f 1)" -lt 15000 ] || fail "a program is too much work for the verifier"
[ "$(tail -n 1 /tmp/verified | cut -d ' ' -f 1)" -gt 0 ] || fail "a program was not verified"

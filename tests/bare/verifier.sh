#!/bin/sh
# In exact virtual time: attaching takes less than 0.75 s, and what the verifier has to look at, which is most of it, stays little. It
# is the same on any number of CPUs; for how long it takes there ask the benchmark. The same programs
# take 20 ms more in one checkout than in another.
# cpus: 2
# time: virtual
set -eu
. ./lib/daemon.sh

# Hundredths of a second since the machine started.
uptime_cs() {
  read -r up _ </proc/uptime
  echo "${up%.*}${up#*.}"
}

# Until the machine has nothing of its own to do.
sleep 2
# It says so itself: start_daemon looks only ten times a second.
mkfifo /tmp/said
before=$(uptime_cs)
pandemoniumd --no-bus --state-dir /tmp/state 2>/tmp/said &
daemon=$!
exec 3</tmp/said
while read -r line <&3; do
  case $line in *attached*) break ;; esac
done
took=$(($(uptime_cs) - before))
is_ours || fail "it said that it is attached, and is not"
stop_daemon
exec 3<&-
echo "attached after ${took}0 ms"
[ "$took" -gt 0 ] && [ "$took" -lt 75 ] || fail "attaching took too long"

start_daemon -v
stop_daemon
sed -n 's/.*verified \(pandemonium_[a-z_]*\): \([0-9]*\) instructions$/\2 \1/p' /tmp/daemon.log | sort -rn >/tmp/verified
cat /tmp/verified
[ "$(wc -l </tmp/verified)" -ge 18 ] || fail "not every program was told"
[ "$(head -n 1 /tmp/verified | cut -d ' ' -f 1)" -lt 15000 ] || fail "a program is too much work for the verifier"
[ "$(tail -n 1 /tmp/verified | cut -d ' ' -f 1)" -gt 0 ] || fail "a program was not verified"

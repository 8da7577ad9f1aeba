#!/bin/sh
# A program that was learned in one run of the daemon starts as what it is in the next.
# cpus: 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
. ./lib/numbers.sh

# short: a program of four threads that work shortly, not often enough to be known before they end.
short() { pandemonium-workload duty --name quick --threads 4 --percent 2 --period-ms 16 --seconds 1; }

echo "nothing is known"
start_daemon
short
stop_daemon
first=$(total warm_starts)
pandemoniumd --check-profiles /tmp/state/profiles.bin

echo "the next run of the daemon knows it"
cp -r /tmp/state /tmp/known
start_daemon
short
stop_daemon
second=$(total warm_starts)

echo "and one that lost its state does not"
rm -rf /tmp/state
start_daemon
short
stop_daemon
echo "warm starts: $first, $second, $(total warm_starts)"
[ "$first" = 0 ] || fail "started warm before anything was learned"
[ "$second" -ge 4 ] || fail "only $second of four threads started warm"
[ "$(total warm_starts)" = 0 ] || fail "started warm without a state"

echo "a hog under that name has no more than another"
rm -rf /tmp/state
cp -r /tmp/known /tmp/state
start_daemon
pandemonium-workload hog --threads 4 --seconds 4 >/dev/null &
other=$!
pandemonium-workload hog --threads 4 --seconds 4 --name quick >/dev/null &
quick=$!
sleep 1
other_before=$(ticks $other) quick_before=$(ticks $quick)
sleep 2
other_ticks=$(($(ticks $other) - other_before)) quick_ticks=$(($(ticks $quick) - quick_before))
wait $other $quick
still_ours "hogs under a known name"
stop_daemon
[ "$(total warm_starts)" -ge 4 ] || fail "the hogs were not taken for what they are called"
near "$quick_ticks" "$other_ticks" 15 "ticks of hogs under a known name, beside others"

#!/bin/sh
# In exact virtual time: nice 5 gets the third of nice 0's time that its weight says (335 to 1024).
# cpus: 1
# time: virtual
# kernels: newest
set -eu
. ./lib/daemon.sh
spin() { while :; do :; done; }
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
start_daemon
spin &
normal=$!
/usr/bin/nice -n 5 sh -c 'while :; do :; done' &
nicer=$!
sleep 1
normal_before=$(ticks $normal) nicer_before=$(ticks $nicer)
sleep 6
normal_ticks=$(($(ticks $normal) - normal_before)) nicer_ticks=$(($(ticks $nicer) - nicer_before))
kill $normal $nicer
echo "nice 0 ran for $normal_ticks ticks, nice 5 for $nicer_ticks"
# 3.06 times as much is exact; a tick is a hundredth of a second.
[ $((normal_ticks * 10)) -gt $((nicer_ticks * 25)) ] || fail "the weight counts for too little"
[ $((normal_ticks * 10)) -lt $((nicer_ticks * 36)) ] || fail "the weight counts for too much"
stop_daemon

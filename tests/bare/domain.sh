#!/bin/sh
# In exact virtual time: work stays in the primary domain, spills over while that is full, and comes back.
# cpus: 4
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
. ./lib/cpus.sh

# Not the lowest CPUs, which come first without a domain.
start_daemon --primary-domain 0xc
echo "two hogs in a domain of two"
pandemonium-workload hog --threads 2 --seconds 7 >/dev/null &
first=$!
sleep 1
mark
sleep 2
# What this script itself runs finds the domain full.
busy 0 1 2 3
[ "$(busy_cpus 90 2 3)" = 2 ] || fail "the domain was not used"
[ "$(busy_cpus 40 0 1)" = 0 ] || fail "work left the domain"
echo "two more: all four CPUs"
pandemonium-workload hog --threads 2 --seconds 7 >/dev/null &
second=$!
sleep 1
mark
sleep 2
busy 0 1 2 3
[ "$(busy_cpus 80 0 1 2 3)" = 4 ] || fail "a CPU outside stayed idle while tasks waited"
wait "$first"
echo "and back, once the domain has room"
sleep 0.5
mark
sleep 1
busy 0 1 2 3
# A kernel thread bound to a CPU of the domain sends a hog outside for a slice of 20 ms, a few times a second.
[ "$(busy_cpus 80 2 3)" = 2 ] || fail "what spilled did not come back"
[ "$(busy_cpus 40 0 1)" = 0 ] || fail "work stayed outside the domain"
wait "$second"
still_ours "a primary domain"
stop_daemon
[ "$(total domain_spills)" -gt 0 ] || fail "no spill was counted"

# No CPU here says how fast it is, and none of the others exists: that is every CPU.
echo "no CPU is faster than the others, so the fast ones are all"
start_daemon --primary-domain performance
pandemonium-workload hog --threads 4 --seconds 3 >/dev/null &
hogs=$!
sleep 1
mark
sleep 1
busy 0 1 2 3
[ "$(busy_cpus 80 0 1 2 3)" = 4 ] || fail "not every CPU was used"
wait "$hogs"
still_ours performance
stop_daemon
[ "$(total domain_spills)" = 0 ] || fail "there was a domain"
status=0
pandemoniumd --no-bus --primary-domain 0x0 || status=$?
[ "$status" = 2 ] || fail "a domain without CPUs ended with status $status instead of 2"

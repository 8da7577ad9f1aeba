#!/bin/sh
# A kernel that takes no scheduler, because some CPUs are isolated: the cause is told, and what to do.
# The newest kernel is asked in tests/system/refusal.sh.
# kernels: oldest
# append: isolcpus=domain,1
# time: single
set -eu
. ./lib/daemon.sh
cause="This kernel cannot load a sched_ext scheduler: isolcpus= takes CPU 1 out of its scheduling; boot without that."
status=0
pandemoniumd --no-bus --state-dir /tmp/state >/tmp/daemon.log 2>&1 || status=$?
cat /tmp/daemon.log
[ "$status" = 3 ] || fail "status $status instead of 3"
[ "$(grep -cF "$cause" /tmp/daemon.log)" = 1 ] || fail "the cause was not told once"
is_disabled || fail "something is loaded"
if pandemonium check >/tmp/said; then fail "check finds nothing"; fi
cat /tmp/said
grep -q 'PROBLEM .*isolcpus=' /tmp/said || fail "check does not name the cause"

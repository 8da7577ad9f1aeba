#!/bin/sh
# Kernel threads bound to one CPU go to it at once if that was asked for, and not otherwise.
# cpus: 2
# kernels: newest
set -eu
. ./lib/daemon.sh
. ./lib/numbers.sh

# local_kthreads OPTION...: how many did so while every CPU was busy.
# time: single
local_kthreads() {
  start_daemon "$@"
  pandemonium-workload hog --threads 4 --seconds 6 >/dev/null
  still_ours "hogs"
  stop_daemon
  total local_kthreads
}
with=$(local_kthreads --local-kthreads)
without=$(local_kthreads)
echo "with the option $with, without it $without"
[ "$with" -gt 0 ] || fail "none went straight to its CPU"
[ "$without" = 0 ] || fail "$without did although nobody asked for it"

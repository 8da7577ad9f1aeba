#!/bin/sh
# In exact virtual time: threads that wait for their turn with sched_yield(), more than there are CPUs, get at least half as far as
# under the kernel's own scheduler.
# cpus: 2
# kernels: newest oldest
# time: virtual
set -eu
. ./lib/daemon.sh
. ./lib/numbers.sh

# turns ARGUMENT...: how often the turn goes on in a second.
turns() {
  "$@" --seconds 1 --json >/tmp/turns
  field turns /tmp/turns
}

measure() {
  bound=$(turns taskset -c 0 pandemonium-workload turns --threads 3)
  free=$(turns pandemonium-workload turns --threads 6)
}

measure
bound_kernel=$bound free_kernel=$free
start_daemon
measure
still_ours turns
stop_daemon
echo "three on one CPU: $bound turns, $bound_kernel under the kernel's own scheduler"
echo "six on two CPUs: $free turns, $free_kernel under the kernel's own scheduler"
[ "$bound_kernel" -gt 0 ] && [ "$((2 * bound))" -ge "$bound_kernel" ] || fail "too few turns on one CPU"
[ "$free_kernel" -gt 0 ] && [ "$((2 * free))" -ge "$free_kernel" ] || fail "too few turns on two CPUs"

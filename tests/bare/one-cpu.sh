#!/bin/sh
# In exact virtual time: two tasks that wake each other beside computing ones, where everybody has the same CPU, get about
# as far as under the kernel's own scheduler.
# cpus: 1 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh

# trips SCHEDULER ARGUMENT...: round trips through a pipe in a second, bound to CPU 0 like the load beside them.
trips() {
  taskset -c 0 pandemonium-workload suite --scheduler "$@" --time virtual --seconds 1 --rounds 1 --rows ipc >/tmp/trips
  sed -n 's/.*figure="count"} \([0-9]*\).*/\1/p' /tmp/trips
}

kernel=$(trips eevdf)
[ "$kernel" -gt 0 ] || fail "no round trips under the kernel's own scheduler"
for mode in adaptive bpf; do
  ours=$(trips "$mode" --start "pandemoniumd --no-bus --mode $mode --state-dir /tmp/state-$mode")
  echo "$mode: $ours round trips, $kernel under the kernel's own scheduler"
  [ "$((10 * ours))" -ge "$((8 * kernel))" ] || fail "too few round trips"
done

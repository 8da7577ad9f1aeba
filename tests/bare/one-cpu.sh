#!/bin/sh
# In exact virtual time: two tasks that wake each other where everybody has the same CPU, beside computing ones or alone, get
# about as far as under the kernel's own scheduler.
# cpus: 1 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh

# trips ROW SCHEDULER ARGUMENT...: round trips through a pipe in a second, bound to CPU 0 like the load beside them.
trips() {
  row=$1
  shift
  taskset -c 0 pandemonium-workload suite --scheduler "$@" --time virtual --seconds 1 --rounds 1 --rows "$row" >/tmp/trips
  sed -n 's/.*figure="count"} \([0-9]*\).*/\1/p' /tmp/trips
}

for part in ipc:80 pipe:87; do
  row=${part%:*} percent=${part#*:}
  kernel=$(trips "$row" eevdf)
  [ "$kernel" -gt 0 ] || fail "no round trips under the kernel's own scheduler"
  for mode in adaptive bpf; do
    ours=$(trips "$row" "$mode" --start "pandemoniumd --no-bus --mode $mode --state-dir /tmp/state-$mode")
    echo "$row, $mode: $ours round trips, $kernel under the kernel's own scheduler"
    [ "$((100 * ours))" -ge "$((percent * kernel))" ] || fail "too few round trips"
  done
done

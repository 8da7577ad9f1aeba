# Shared by the bare tests: the daemon without a bus, and what the kernel says.

sched_ext=/sys/kernel/sched_ext

# start_daemon ARGUMENT...: the daemon in the background, its lines in /tmp/daemon.log; returns once attached.
start_daemon() {
  pandemoniumd --no-bus --telemetry --state-dir /tmp/state "$@" >/tmp/daemon.log 2>&1 &
  daemon=$!
  wait_for 300 is_enabled || fail "the scheduler did not attach"
}

is_enabled() { [ "$(cat $sched_ext/state)" = enabled ]; }
is_disabled() { [ "$(cat $sched_ext/state)" = disabled ]; }
is_ours() { is_enabled && [ "$(cat $sched_ext/root/ops)" = pandemonium ]; }

# wait_for TENTHS COMMAND...: until COMMAND succeeds, at most TENTHS tenths of a second.
wait_for() {
  tenths=$1
  shift
  while [ "$tenths" -gt 0 ]; do
    if "$@"; then return 0; fi
    sleep 0.1
    tenths=$((tenths - 1))
  done
  return 1
}

# still_ours WHAT: fail unless our scheduler is loaded and was never loaded anew.
still_ours() {
  is_ours || fail "ejected: $1"
  kill -0 "$daemon" || fail "the daemon ended: $1"
  [ "$(grep -c attached /tmp/daemon.log)" = 1 ] || fail "attached more than once: $1"
}

stop_daemon() {
  kill "$daemon"
  wait "$daemon" || fail "the daemon left with status $?"
  is_disabled || fail "the kernel's scheduler is not back"
}

fail() {
  echo "FAILED: $1"
  tail -n 20 /tmp/daemon.log
  exit 1
}

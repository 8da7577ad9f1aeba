# shellcheck shell=bash
# Shared by the system tests: the service, what it tells, and what the kernel says.

name=org.pandemonium.Scheduler1
object=/org/pandemonium/Scheduler1
sched_ext=/sys/kernel/sched_ext

# sched PROPERTY: its value, without type and quotes.
sched() { busctl --system --auto-start=no get-property $name $object $name "$1" | sed 's/^[^ ]* //; s/"//g'; }
call() { busctl --system --auto-start=no call $name $object $name "$@"; }
set_mode() { call SetMode 'sa{sv}' "$1" 0; }
state_is() { [[ $(sched State 2>/dev/null) == "$1" ]]; }
kernel_is() { [[ $(<$sched_ext/state) == "$1" ]]; }

# until_true TENTHS COMMAND...: until COMMAND succeeds, at most TENTHS tenths of a second.
until_true() {
  local tenths=$1
  shift
  until "$@"; do
    ((tenths-- > 0)) || {
      echo "this never came true: $*"
      return 1
    }
    sleep 0.1
  done
}

# fails COMMAND...: COMMAND is refused; what it says is in /tmp/said.
fails() {
  if "$@" >/tmp/said 2>&1; then
    echo "was not refused: $*"
    return 1
  fi
  cat /tmp/said
}

# listen FILE: from now on, a line for each announcement of the daemon: the kernel's state when it is heard, then
# the announcement.
listen() {
  local heard=$1
  : >"$heard"
  busctl --system --json=short monitor --match "type='signal',path='$object'" 2>/dev/null |
    while IFS= read -r line; do
      echo "$(cat $sched_ext/state) $line" >>"$heard"
    done &
  # It hears itself asking when it listens.
  until_true 300 is_heard "$heard"
}
is_heard() {
  busctl --system emit $object $name.Test Ready
  grep -q '"member":"Ready"' "$1"
}

# announced FILE PROPERTY: the kernel's state and the value, for each announcement of PROPERTY.
announced() {
  sed -n "s/^\([a-z]*\) .*\"$2\":{\"type\":\"[a-z]*\",\"data\":\"\([^\"]*\)\"}.*/\1 \2/p" "$1"
}

# load_foreign, unload_foreign: another scheduler than ours, as its own tool would.
load_foreign() {
  mkdir -p /sys/fs/bpf/foreign
  bpftool struct_ops register /run/payload/bin/foreign.bpf.o /sys/fs/bpf/foreign >/dev/null
  [[ $(cat $sched_ext/root/ops) == foreign ]]
}
unload_foreign() {
  rm -r /sys/fs/bpf/foreign
  until_true 100 no_ops
}
# The kernel takes a scheduler out some time after its link has gone.
no_ops() { [[ ! -e $sched_ext/root/ops ]]; }

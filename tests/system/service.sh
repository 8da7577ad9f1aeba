#!/bin/bash
# The installed package as people use it: enable, look, switch, be refused, and the truth after each.
# timeout: 900
set -eu
trap 'echo "failed at line $LINENO"; journalctl -u pandemonium --no-pager | tail -n 30' EXIT
name=org.pandemonium.Scheduler1
object=/org/pandemonium/Scheduler1
get() { busctl --system get-property $name $object "$1" "$2" | sed 's/^[^ ]* //; s/"//g'; }
sched() { get $name "$1"; }
set_mode() { busctl --system call $name $object $name SetMode 'sa{sv}' "$1" 0; }
# until TENTHS COMMAND...
until_true() {
  local tenths=$1
  shift
  until "$@"; do
    ((tenths-- > 0)) || return 1
    sleep 0.1
  done
}
state_is() { [[ $(sched State) == "$1" ]]; }
kernel_is() { [[ $(cat /sys/kernel/sched_ext/state) == "$1" && $(sched KernelState) == "$1" ]]; }
refused() {
  if "$@" >/tmp/said 2>&1; then
    echo "was not refused: $*"
    return 1
  fi
  cat /tmp/said
}

echo "enable and start"
systemctl enable --now pandemonium
until_true 300 state_is running
kernel_is enabled
[[ $(sched KernelOps) == pandemonium && $(cat /sys/kernel/sched_ext/root/ops) == pandemonium ]]
[[ $(sched Mode) == adaptive ]]

echo "as its own user with two capabilities only"
pid=$(systemctl show -p MainPID --value pandemonium)
[[ $(ps -o user= -p "$pid" | tr -d ' ') == pandemon* ]]
grep -q '^CapEff:.*000000c000000000$' /proc/"$pid"/status
grep -q '^CapBnd:.*000000c000000000$' /proc/"$pid"/status

echo "an ordinary user reads"
as_user() { setpriv --reuid tester --regid tester --clear-groups "$@"; }
as_user busctl --system get-property $name $object $name State | grep -q running
as_user busctl --system get-property $name $object org.pandemonium.Metrics1 P99ByTierNsec | grep -q '^(ttt)'
as_user busctl --system get-property $name $object org.pandemonium.Processes1 Count | grep -q '^u '
as_user pandemonium status
as_user pandemonium status --json | grep -q '"running"'

echo "the longest message leaves nothing behind"
resident() { ps -o rss= -p "$pid"; }
before=$(resident)
as_user python3 - <<'PYTHON'
from gi.repository import Gio, GLib

NAME, OBJECT = "org.pandemonium.Scheduler1", "/org/pandemonium/Scheduler1"
bus = Gio.bus_get_sync(Gio.BusType.SYSTEM)
text = GLib.Variant("(s)", ("x" * (31 << 20),))
for _ in range(3):
    try:
        bus.call_sync(NAME, OBJECT, NAME, "AddCompositor", text, None, Gio.DBusCallFlags.NONE, 100_000, None)
        raise SystemExit("was not refused")
    except GLib.Error as error:
        assert "InvalidName" in error.message, error.message[:500]
PYTHON
echo "$before KiB, then $(resident) KiB"
(($(resident) < before + 8 * 1024))

echo "and is refused to switch"
refused as_user busctl --system call $name $object $name SetMode 'sa{sv}' bpf 0
refused as_user pandemonium mode bpf
[[ $(sched Mode) == adaptive ]]

echo "root switches; adaptive and bpf share the loaded scheduler"
loads=$(cat /sys/kernel/sched_ext/enable_seq)
set_mode bpf
[[ $(sched Mode) == bpf ]]
set_mode adaptive
[[ $(sched Mode) == adaptive && $(cat /sys/kernel/sched_ext/enable_seq) == "$loads" ]]
set_mode off
kernel_is disabled
state_is stopped
pandemonium mode adaptive
kernel_is enabled
refused set_mode turbo
refused pandemonium mode turbo
state_is running

echo "work, measured and learned"
/run/payload/bin/pandemonium-workload mixed --seconds 8 | tail -n 1
[[ $(get org.pandemonium.Metrics1 P99Nsec) -gt 0 ]]
profiles() { [[ $(get org.pandemonium.Processes1 Count) -gt 0 ]]; }
until_true 100 profiles
pandemonium monitor --plain --count 2 | grep -q '^d/s: .*\[[A-Z ]*\] cpus: [0-9]*/[0-9]* queued: [0-9]*/[0-9]* slice: [0-9]*us$'
pandemonium check
pandemonium profiles --limit 5
pandemonium dmesg | grep -q 'sched_ext'

echo "what was learned survives a restart"
count=$(get org.pandemonium.Processes1 Count)
systemctl restart pandemonium
until_true 300 state_is running
[[ $(get org.pandemonium.Processes1 Count) -ge $count ]]

echo "SysRq-S: told at once, and not fought"
echo S >/proc/sysrq-trigger
until_true 30 state_is ejected
kernel_is disabled
sched LastExit | grep -q sysrq
journalctl -u pandemonium --no-pager | grep -qi sysrq
sleep 3
kernel_is disabled
pandemonium mode adaptive
until_true 300 state_is running

echo "SIGKILL: systemd brings it back"
kill -9 "$(systemctl show -p MainPID --value pandemonium)"
until_true 300 state_is running
kernel_is enabled

echo "hardening"
exposure=$(systemd-analyze security --no-pager pandemonium | sed -n 's/.*exposure level[^0-9]*\([0-9.]*\).*/\1/p')
echo "exposure $exposure"
awk -v x="$exposure" 'BEGIN { exit !(x != "" && x <= 1.5) }'

echo "stop"
systemctl stop pandemonium
[[ $(cat /sys/kernel/sched_ext/state) == disabled ]]
[[ $(systemctl show -p Result --value pandemonium) == success ]]
refused pandemonium status
refused as_user pandemonium mode bpf
trap - EXIT

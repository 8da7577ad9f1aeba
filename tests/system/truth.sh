#!/bin/bash
# What is published is what the kernel says when it is announced, and it is announced once: SysRq-S, a killed daemon,
# loads that cannot succeed, and a scheduler of somebody else, whenever that comes.
# timeout: 900
set -Eeu
. ./lib/service.sh
. ./lib/truth.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'cat /tmp/heard; journalctl -u pandemonium --no-pager | tail -n 40' EXIT
drop_in=/run/systemd/system/pandemonium.service.d

# broken LINE: the service starts with this line in its unit, which keeps it from loading.
broken() {
  systemctl stop pandemonium
  mkdir -p $drop_in
  printf '[Service]\n%s\n' "$1" >$drop_in/broken.conf
  systemctl daemon-reload
  # So many starts in a row are not what is tested here; systemd may have forgotten them already.
  systemctl reset-failed pandemonium 2>/dev/null || true
  fresh
  systemctl start pandemonium
}
# refusals OPTION...: how often the journal says that loading failed.
refusals() { journalctl --no-pager --quiet -o cat MESSAGE_ID=e632a08d88854ad694afe73e1091ca86 "$@" | wc -l; }
mended() {
  systemctl stop pandemonium
  rm $drop_in/broken.conf
  systemctl daemon-reload
  # As above.
  systemctl reset-failed pandemonium 2>/dev/null || true
}

listen $heard
echo "a start"
systemctl start pandemonium
until_agrees running enabled pandemonium
told "enabled running"

echo "SysRq-S"
fresh
echo S >/proc/sysrq-trigger
until_agrees ejected disabled ''
told "disabled ejected"
[[ $(grep -c '"member":"Ejected"' $heard) == 1 ]]
fresh
set_mode adaptive
agrees running enabled pandemonium
told "enabled running"

# asked_about: what the bus does for whoever asks while nobody is there is to ask systemd for the service.
asked_about() {
  local times=8
  until ((times-- == 0)) || state_is running; do
    # Nobody may answer: asking is the point.
    busctl --system --timeout=1 get-property $name $object $name State >/dev/null 2>&1 || true
  done
}
# next_wait: how long systemd would wait after the next death, microseconds.
next_wait() {
  busctl --system get-property org.freedesktop.systemd1 /org/freedesktop/systemd1/unit/pandemonium_2eservice \
    org.freedesktop.systemd1.Service RestartUSecNext | cut -d ' ' -f 2
}
for round in 1 2 3; do
  echo "a daemon that is killed, and asked for, round $round"
  (($(next_wait) < 5000000))
  fresh
  kill -9 "$(systemctl show -p MainPID --value pandemonium)"
  # The kernel takes the scheduler off; nobody is there who could say anything else.
  until_true 10 kernel_is disabled
  asked_about
  until_agrees running enabled pandemonium
  told "enabled running"
done
[[ $(systemctl show -p NRestarts --value pandemonium) == 3 ]]
[[ $(bpftool struct_ops list | grep -c pandemonium) == 1 ]]

echo "another scheduler, while ours is off"
set_mode off
agrees stopped disabled ''
fresh
load_foreign
until_agrees stopped enabled foreign
told
echo "is in the way when ours is wanted"
fails set_mode adaptive
grep -q foreign /tmp/said
until_agrees conflict enabled foreign
told "enabled conflict"
echo "and no longer when it has gone"
fresh
unload_foreign
until_agrees stopped disabled ''
told "disabled stopped"
sleep 3
agrees stopped disabled ''
set_mode adaptive
agrees running enabled pandemonium

echo "another scheduler cannot come while ours runs"
fresh
fails load_foreign
agrees running enabled pandemonium
told

echo "another scheduler, once ours was ended"
echo S >/proc/sysrq-trigger
until_agrees ejected disabled ''
load_foreign
until_agrees conflict enabled foreign
told "disabled ejected" "enabled conflict"

echo "another scheduler, before the daemon starts"
systemctl stop pandemonium
fresh
systemctl start pandemonium
until_agrees conflict enabled foreign
told "enabled conflict"
unload_foreign
until_agrees stopped disabled ''

echo "without the right to load"
broken AmbientCapabilities=
until_agrees stopped disabled ''
told "disabled stopped"
[[ $(sched NextRetryUSec) == 0 && -n $(sched StateReason) ]]
mended

echo "without descriptors it is tried five times, less and less often; only the last failure is an error"
before=$(refusals) errors=$(refusals -p err)
broken LimitNOFILE=32
until_true 900 eval '(($(refusals) == before + 5))'
(($(refusals -p err) == errors + 1))
until_agrees stopped disabled ''
[[ $(sched NextRetryUSec) == 0 && $(sched StateReason) == *"open files"* ]]
[[ $(sched Mode) == off && $(sched RequestedMode) == adaptive ]]
# Never anything but these, whenever it was heard.
[[ -z $(announced $heard State | sed '/^disabled st\(opped\|arting\)$/d') ]]
fails set_mode bpf
(($(refusals) >= before + 6))
mended

echo "without the kernel's types"
broken InaccessiblePaths=/sys/kernel/btf
until_agrees unsupported disabled ''
told "disabled unsupported"
[[ $(sched NextRetryUSec) == 0 && $(sched StateReason) == *BTF* ]]
mended

echo "and all is well again"
systemctl start pandemonium
until_agrees running enabled pandemonium
systemctl stop pandemonium
trap - EXIT

#!/bin/bash
# An enabled service is back after a reboot, with the scheduler loaded, and knows what it had learned.
# qemu: -action reboot=reset
set -Eeu
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'journalctl -u pandemonium --no-pager | tail -n 30' EXIT
# On the disk, which outlives the reboot.
remembered=/var/lib/learned-before-the-reboot
until_true() {
  local tenths=$1
  shift
  until "$@"; do
    ((tenths-- > 0)) || return 1
    sleep 0.1
  done
}
is_loaded() { [[ $(cat /sys/kernel/sched_ext/state) == enabled ]]; }
count() { busctl --system get-property org.pandemonium.Scheduler1 /org/pandemonium/Scheduler1 org.pandemonium.Processes1 Count | cut -d ' ' -f 2; }
has_learned() { (($(count) > 0)); }
names() { pandemonium profiles --json | tr ',{' '\n\n' | sed -n 's/.*"name": *"\(.*\)".*/\1/p' | sort; }

if [[ ! -e $remembered ]]; then
  systemctl enable --now pandemonium
  until_true 300 is_loaded
  /run/payload/bin/pandemonium-workload mixed --seconds 5 | tail -n 1
  until_true 100 has_learned
  names >$remembered
  cat $remembered
  [[ -s $remembered ]]
  systemctl reboot
  sleep 600
fi
until_true 300 is_loaded
echo "after the reboot: $(count) profiles"
names >/tmp/known
missing=$(comm -23 $remembered /tmp/known)
[[ -z $missing ]] || {
  echo "forgotten: $missing"
  exit 1
}

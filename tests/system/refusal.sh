#!/bin/bash
# A kernel that takes no scheduler, because some CPUs are isolated: it is asked five times, each attempt has its entry
# in the journal and only the last is an error, and what is told is the truth all the while.
# append: isolcpus=domain,1
# timeout: 500
set -Eeu
. ./lib/service.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'cat /tmp/heard; journalctl -u pandemonium --no-pager | tail -n 40' EXIT
attempts() { journalctl --no-pager --quiet -o cat MESSAGE_ID=e632a08d88854ad694afe73e1091ca86 "$@" | wc -l; }
has_given_up() { [[ $(attempts -p err) == 1 ]]; }

# On an emulated machine that has little time, an attempt may take longer than the watchdog of the unit waits.
mkdir -p /run/systemd/system/pandemonium.service.d
printf '[Service]\nWatchdogSec=0\n' >/run/systemd/system/pandemonium.service.d/slow.conf
systemctl daemon-reload

listen /tmp/heard
systemctl start pandemonium
until_true 300 state_is stopped
until_true 600 has_given_up
[[ $(attempts) == 5 ]]
until_true 100 eval '[[ $(sched NextRetryUSec) == 0 ]]'
[[ $(sched State) == stopped && -n $(sched StateReason) && $(sched Mode) == off && $(sched RequestedMode) == adaptive ]]
kernel_is disabled
[[ $(sched KernelState) == disabled && -z $(sched KernelOps) ]]
# Never anything but these, whenever it was heard.
[[ -z $(announced /tmp/heard State | sed '/^disabled st\(opped\|arting\)$/d') ]]
fails set_mode bpf
[[ $(attempts) == 6 ]]
systemctl stop pandemonium
trap - EXIT

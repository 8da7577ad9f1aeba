#!/bin/bash
# A kernel that takes no scheduler, because some CPUs are isolated: it is asked once, and the cause is told in a
# sentence that says what to do.
# append: isolcpus=domain,1
set -Eeu
. ./lib/service.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'cat /tmp/heard; journalctl -u pandemonium --no-pager | tail -n 40' EXIT
refusals() { journalctl --no-pager --quiet -o cat MESSAGE_ID=e632a08d88854ad694afe73e1091ca86 "$@"; }
cause="This kernel cannot load a sched_ext scheduler: isolcpus= takes CPU 1 out of its scheduling; boot without that."

listen /tmp/heard
systemctl start pandemonium
until_true 300 state_is unsupported
[[ $(sched StateReason) == "$cause" && $(sched NextRetryUSec) == 0 ]]
[[ $(sched Mode) == off && $(sched RequestedMode) == adaptive ]]
kernel_is disabled
[[ $(sched KernelState) == disabled && -z $(sched KernelOps) ]]
[[ $(refusals -p err) == "$cause" ]]
sleep 5
[[ $(refusals) == "$cause" ]]
# Never anything but these, whenever it was heard.
[[ -z $(announced /tmp/heard State | sed '/^disabled \(starting\|unsupported\)$/d') ]]
fails pandemonium mode bpf
grep -qF "$cause" /tmp/said
[[ $(systemctl show -p NRestarts --value pandemonium) == 0 ]]
pandemonium check >/tmp/said && exit 1
cat /tmp/said
grep -q 'PROBLEM .*isolcpus=' /tmp/said
systemctl stop pandemonium
trap - EXIT

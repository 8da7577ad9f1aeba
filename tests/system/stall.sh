#!/bin/bash
# A task that a realtime task keeps off its only CPU: the kernel ends the scheduler. That is told once and is true when
# it is told, has one entry in the journal with an explanation, and the scheduler comes back by itself.
set -Eeu
. ./lib/service.sh
. ./lib/truth.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'cat $heard; journalctl -u pandemonium --no-pager | tail -n 40; dmesg | tail -n 40' EXIT

# busy COMMAND...: a task that never leaves CPU 1, started by COMMAND.
busy() { exec taskset -c 1 "$@" sh -c 'while :; do :; done'; }
# spared: the kernel's own threads, those that come later too, go before the realtime task: the disk, RCU and whatever
# else needs CPU 1 now and then goes on.
spared() {
  local thread
  while sleep 0.2; do
    for thread in $(ps --ppid 2 -o pid=,cls= | sed -n 's/ TS$//p'); do
      # It may have ended already.
      chrt -f -p 20 "$thread" 2>/dev/null || true
    done
  done
}
# ejections OPTION...: what the journal says about the scheduler's end.
ejections() { journalctl --no-pager --quiet -o cat MESSAGE_ID=dffac7ee9f4a4689b2a074fca5efeba4 "$@"; }

spared &
# Otherwise the kernel lets the scheduler's tasks run beside a realtime one, 5 % of the time.
echo 0 >/sys/kernel/debug/sched/ext_server/cpu1/runtime
listen $heard
systemctl start pandemonium
until_agrees running enabled pandemonium
restarts=$(systemctl show -p NRestarts --value pandemonium)

echo "a stall"
fresh
busy &
starved=$!
# It runs before the other comes, so nothing but itself waits for what it holds.
sleep 2
busy chrt -f 10 &
hog=$!
until_true 900 grep -q '"member":"Ejected"' $heard
kill $hog $starved
until_agrees running enabled pandemonium
told "disabled ejected" "enabled running"
[[ $(grep -c '"member":"Ejected"' $heard) == 1 ]]
[[ $(sched LastExit) == *error_stall* && $(sched RestartCount) == 1 ]]

echo "in the journal"
[[ $(ejections | wc -l) == 1 ]]
[[ $(ejections --output-fields=PANDEMONIUM_EXIT_KIND) == error_stall ]]
[[ $(ejections --output-fields=PANDEMONIUM_EXIT_MESSAGE) == *"[$starved] failed to run for"* ]]
ejections -o short -x | tee /tmp/explained
grep -q 'Subject: The kernel ended the PANDEMONIUM CPU scheduler' /tmp/explained
grep -q 'The kernel ended the scheduler: error_stall, runnable task stall\.' /tmp/explained

echo "the service itself lived on"
[[ $(systemctl show -p NRestarts --value pandemonium) == "$restarts" ]]
systemctl stop pandemonium
trap - EXIT

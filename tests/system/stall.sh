#!/bin/bash
# A task that a realtime hog keeps off its only CPU: the kernel ends the scheduler. That is told once and is true when
# it is told, has one entry in the journal, and is answered with a return, less and less often; the fifth time ends it.
# timeout: 900
set -Eeu
. ./lib/service.sh
. ./lib/truth.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'cat /tmp/heard; journalctl -u pandemonium --no-pager | tail -n 40' EXIT
workload=/run/payload/bin/pandemonium-workload
ejections() { journalctl --no-pager --quiet MESSAGE_ID=dffac7ee9f4a4689b2a074fca5efeba4 "$@"; }

# stall: until the kernel has ended the scheduler.
stall() {
  local hog starved
  chrt -f 50 taskset -c 1 $workload hog --threads 1 --seconds 60 >/dev/null &
  hog=$!
  sleep 1
  taskset -c 1 $workload hog --threads 1 --seconds 1 >/dev/null &
  starved=$!
  until_true 600 kernel_is disabled
  kill $hog
  # It ends by the signal.
  wait $hog || true
  wait $starved
}

# Nothing else lets a realtime task have all of a CPU.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
for server in /sys/kernel/debug/sched/*_server/cpu1/runtime; do
  echo 0 >"$server"
done

listen $heard
systemctl start pandemonium
until_agrees running enabled pandemonium

for ((round = 1; round <= 5; round++)); do
  echo "stall $round"
  fresh
  stall
  if ((round == 5)); then
    until_agrees ejected disabled ''
    told "disabled ejected"
  else
    until_agrees running enabled pandemonium
    told "disabled ejected" "enabled running"
  fi
  [[ $(grep -c '"member":"Ejected"' $heard) == 1 ]]
  [[ $(ejections -o cat | wc -l) == "$round" ]]
done
[[ $(ejections -o cat --output-fields=PANDEMONIUM_EXIT_KIND | sort -u) == error_stall ]]
ejections -x | grep -q 'Subject: The kernel ended the PANDEMONIUM CPU scheduler'
diff <(ejections -o cat | sed 's/^.*); //') - <<'WORDS'
trying again in 1.0 s.
trying again in 2.0 s.
trying again in 4.0 s.
trying again in 8.0 s.
that was the fifth failure in ten minutes, so it stays off until a mode is asked for.
WORDS
[[ $(sched NextRetryUSec) == 0 && $(sched StateReason) == *"fifth failure"* ]]
[[ $(sched LastExit) == *error_stall* && $(sched RestartCount) == 4 ]]

echo "and comes back when it is asked for"
fresh
set_mode adaptive
agrees running enabled pandemonium
told "enabled running"
systemctl stop pandemonium
trap - EXIT

#!/bin/bash
# While polkit, the real one, has somebody at the machine asked for a password, everybody else is served. Whoever
# leaves meanwhile has changed nothing and is asked no more; only the right password does what was wanted.
set -Eeu
. ./lib/service.sh
. ./lib/sessions.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'cat $asked; loginctl --no-pager; journalctl -u pandemonium -u polkit --no-pager | tail -n 40' EXIT
processes=org.pandemonium.Processes1
asked=/run/obey/agent.log
polkit=org.freedesktop.PolicyKit1

# ask INTERFACE METHOD [ARGUMENTS]: somebody at the desk does, and a dialog opens; $caller is who waits, $cookie what
# polkit calls the dialog.
ask() {
  local before
  before=$(wc -l <$asked)
  obeyed desk "(busctl --timeout=1000 call $name $object $* >/run/obey/answer 2>&1 & echo \$! >/run/obey/caller)"
  caller=$(cat /run/obey/caller)
  until_true 300 eval "((\$(wc -l <$asked) > $before))"
  read -r what action cookie < <(tail -n 1 $asked)
  echo "$2: $what $action"
  [[ $what == asked && $action == org.pandemonium.* ]]
}
# served: others get their answers, and the dialog is as open as before.
served() {
  setpriv --reuid nobody --regid nogroup --clear-groups bash -c "
    busctl --timeout=100 get-property $name $object $name State Mode RequestedMode KernelState PrimaryDomain &&
      busctl --timeout=100 call $name $object org.pandemonium.Metrics1 GetSnapshot" >/dev/null
  obeyed desk "busctl --timeout=100 call $name $object $processes List 'uua{sv}' 0 1 0" >/dev/null
  kill -0 "$caller"
  [[ $(tail -n 1 $asked) == *" $cookie" ]]
}
# told ANSWER: what the caller was told once the dialog had been closed.
told() {
  kill -USR1 "$agent"
  until_true 300 eval "! kill -0 $caller 2>/dev/null"
  [[ $(cat /run/obey/answer) == "$1" ]]
}
# leave: the caller is gone without a word, and so is the dialog.
leave() {
  kill -9 "$caller"
  until_true 300 grep -q "^withdrawn $cookie$" $asked
}
# choices: everything that a method with a dialog could have changed.
choices() {
  local property
  for property in Mode RequestedMode BootMode PrimaryDomain IdleSelector PowerMap Compositors; do
    sched $property
  done
  busctl call $name $object $processes Get ay 4 107 101 112 116 | cut -d ' ' -f 1-7
}

log_in desk
systemctl start pandemonium
until_true 300 state_is running
obeyed desk "python3 /run/payload/tests/lib/agent.py $(id_of desk) >$asked 2>&1 &"
until_true 600 grep -q ready $asked
agent=$(sed -n 's/^ready //p' $asked)
busctl call $name $object $processes Pin ays 4 107 101 112 116 batch
before=$(choices)
echo "$before"

echo "whoever leaves has changed nothing"
while read -r interface call; do
  # shellcheck disable=SC2086 # the method and its arguments
  ask $interface $call
  served
  leave
done <<CALLS
$name AddCompositor s leaver
$name SetMode 'sa{sv}' bpf 1 persist b true
$name SetPrimaryDomain s 0x1
$name SetIdleSelector b false
$name SetPowerMap 'a{ss}' 1 battery 0x1
$name ResetChoices as 1 compositors
$processes Pin ays 4 107 101 112 116 interactive
$processes ForgetAll
CALLS
diff <(choices) - <<<"$before"

echo "nor has whoever is refused"
ask $name AddCompositor s refused
told 'Call failed: Access denied'
diff <(choices) - <<<"$before"

echo "the right password does what was wanted, and nothing else"
ask $name AddCompositor s leaver
leave
ask $name AddCompositor s wanted
busctl call $polkit /${polkit//.//}/Authority $polkit.Authority AuthenticationAgentResponse2 'us(sa{sv})' \
  "$(id -u tester)" "$cookie" unix-user 1 uid u 0
served
told ''
[[ $(sched Compositors) == *wanted* && $(sched Compositors) != *leaver* ]]

systemctl stop pandemonium
trap - EXIT

#!/bin/bash
# Whoever sits at the machine may do what the polkit actions grant an active session; the same user on another
# terminal in the background, from elsewhere or without a session may not, nor may anybody else.
# timeout: 900
set -Eeu
. ./lib/service.sh
. ./lib/sessions.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'loginctl --no-pager; journalctl -u pandemonium -u polkit -u getty@tty1 -u remote --no-pager | tail -n 40' EXIT
interface=/usr/share/dbus-1/interfaces/$name.xml
address=unix:path=/run/dbus/system_bus_socket
declare -A action=(
  [SetMode]=set-mode [Confirm]=set-mode [Revert]=set-mode [Start]=set-mode [Stop]=set-mode [Restart]=set-mode
  [Hold]=hold
  [WriteDiagnostics]=inspect [List]=inspect [Get]=inspect [Export]=inspect
  [Reload]=configure [AddCompositor]=configure [RemoveCompositor]=configure [SetPrimaryDomain]=configure
  [SetPowerMap]=configure [SetIdleSelector]=configure [ResetChoices]=configure
  [Pin]=modify-profiles [Unpin]=modify-profiles [Forget]=modify-profiles [ForgetAll]=modify-profiles
  [Import]=modify-profiles
  [GetSnapshot]="" [GetHistory]="" [Subscribe]="" [Unsubscribe]=""
)
# granted ACTION any|inactive|active: what polkit itself read from the shipped file.
granted() { pkaction --verbose --action-id "org.pandemonium.$1" | sed -n "s/^ *implicit $2: *//p"; }
# sent WHOM COMMAND...: at the desk, from elsewhere, without a session, or as somebody else.
sent() {
  local whom=$1
  shift
  case $whom in
    desk | remote) obeyed "$whom" "$@" ;;
    *) setpriv --reuid "$whom" --regid nogroup --clear-groups sh -c "$*" ;;
  esac
}
# meets WHOM any|inactive|active: every method of the interface, called as WHOM, is answered as polkit's file has it.
meets() {
  local whom=$1 implicit=$2 who error what member wanted got
  sent "$whom" "python3 /run/payload/bin/caller.py $address $interface reach" >/tmp/reached
  grep -q ' call ' /tmp/reached
  while read -r who error what member; do
    [[ $what == call ]] || continue
    member=${member##*.}
    [[ -v action[$member] ]] || {
      echo "$member is not in the list"
      return 1
    }
    wanted=yes
    [[ -z ${action[$member]} ]] || wanted=$(granted "${action[$member]}" "$implicit")
    case $error in
      *InteractiveAuthorizationRequired) got=asks ;;
      *AccessDenied) got=no ;;
      *) got=yes ;;
    esac
    # Somebody has to authenticate, and the caller did not allow that he is asked.
    [[ $wanted != auth_admin* ]] || wanted=asks
    [[ $who == daemon && $got == "$wanted" ]] || {
      echo "$whom ($implicit): $member got $got ($error of $who) instead of $wanted"
      return 1
    }
  done </tmp/reached
}

echo "every action is that of a method"
diff <(sed -n 's/.*<action id="org.pandemonium.\(.*\)">/\1/p' /usr/share/polkit-1/actions/org.pandemonium.policy | sort) \
  <(printf '%s\n' "${action[@]}" | sort -u | sed '/^$/d')
diff <(sed -n 's/.*<method name="\([^"]*\)".*/\1/p' "$interface" | sort) <(printf '%s\n' "${!action[@]}" | sort)

echo "a user at the first terminal, and the same from elsewhere"
log_in desk remote
[[ $(session desk Seat) == seat0 && $(session desk VTNr) == 1 && $(session desk Active) == yes ]]
[[ $(session desk Remote) == no && $(session desk Name) == tester ]]
[[ $(session remote Remote) == yes && -z $(session remote Seat) && $(session remote Name) == tester ]]

systemctl start pandemonium
until_true 300 state_is running

echo "at the desk"
[[ $(granted set-mode active) == yes && $(granted configure active) == auth_admin_keep ]]
meets desk active
sent desk "pandemonium mode bpf"
[[ $(sched Mode) == bpf ]]
sent desk "pandemonium stop"
kernel_is disabled
sent desk "pandemonium start"
kernel_is enabled
sent desk "busctl call $name $object $name SetMode 'sa{sv}' off 1 confirm-timeout u 600"
kernel_is disabled
sent desk "busctl call $name $object $name Revert"
kernel_is enabled
[[ $(sched Mode) == bpf ]]
sent desk "busctl call $name $object $name SetMode 'sa{sv}' adaptive 1 confirm-timeout u 600"
sent desk "busctl call $name $object $name Confirm"
[[ $(sched Mode) == adaptive && $(sched ConfirmUSec) == 0 ]]
[[ $(sent desk "pandemonium hold bpf -- pandemonium status --json" | tr -d ' \n') == *'"mode":"bpf"'* ]]
until_true 100 eval '[[ $(sched Mode) == adaptive ]]'
sent desk "pandemonium profiles --limit 1"
echo "but to remember it for everybody takes an administrator"
fails sent desk "busctl call --allow-interactive-authorization=no $name $object $name SetMode 'sa{sv}' bpf 1 persist b true"
grep -q 'org.pandemonium.configure needs authentication' /tmp/said
fails sent desk "pandemonium domain set 0x1"
[[ $(sched Mode) == adaptive && $(sched PrimaryDomain) == all ]]

nothing_changed() {
  kernel_is enabled
  [[ $(sched Mode) == adaptive && $(sched RequestedMode) == adaptive && $(sched ConfirmUSec) == 0 ]]
  [[ $(sched Holds) == 0 && $(sched PrimaryDomain) == all && $(cat $sched_ext/enable_seq) == "$loads" ]]
}
loads=$(cat $sched_ext/enable_seq)

echo "from elsewhere"
meets remote any
fails sent remote "pandemonium mode bpf"
nothing_changed

echo "without a session"
meets tester any
meets nobody any
fails sent nobody "pandemonium mode bpf"
fails sent nobody "pandemonium hold bpf -- true"
nothing_changed

echo "at a terminal in the background"
# polkit takes a session for active while any of the user's is, and one from elsewhere always is.
other=$(id_of remote)
loginctl terminate-session "$other"
until_true 100 eval '! loginctl show-session "$other" >/dev/null 2>&1'
busctl --system call org.freedesktop.login1 /org/freedesktop/login1/seat/seat0 org.freedesktop.login1.Seat SwitchTo u 2
until_true 100 eval '[[ $(session desk Active) == no ]]'
meets desk inactive
fails sent desk "pandemonium mode bpf"
nothing_changed
busctl --system call org.freedesktop.login1 /org/freedesktop/login1/seat/seat0 org.freedesktop.login1.Seat SwitchTo u 1
until_true 100 eval '[[ $(session desk Active) == yes ]]'
sent desk "pandemonium mode bpf"
[[ $(sched Mode) == bpf ]]
systemctl stop pandemonium
trap - EXIT

#!/bin/bash
# What root chooses at run time is in force at once, shown everywhere, and loads nothing anew; nobody else may.
set -Eeu
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'journalctl -u pandemonium --no-pager | tail -n 30' EXIT
name=org.pandemonium.Scheduler1
object=/org/pandemonium/Scheduler1
sched() { busctl --system get-property $name $object $name "$1"; }
call() { busctl --system call $name $object $name "$@"; }
as_user() { setpriv --reuid tester --regid tester --clear-groups "$@"; }
until_true() {
  local tenths=$1
  shift
  until "$@"; do
    ((tenths-- > 0)) || return 1
    sleep 0.1
  done
}
is_running() { [[ $(sched State) == 's "running"' ]]; }

# refused STATUS TEXT COMMAND...: COMMAND leaves with STATUS after one sentence that has TEXT.
refused() {
  local wanted=$1 text=$2 status=0
  shift 2
  "$@" >/tmp/said 2>&1 || status=$?
  cat /tmp/said
  if [[ $status != "$wanted" || $(wc -l </tmp/said) != 1 ]] || ! grep -q "$text" /tmp/said; then
    echo "status $status instead of $wanted, or not one sentence with '$text': $*"
    return 1
  fi
}
# status_has TEXT: in the JSON without its white space.
status_has() {
  pandemonium status --json | tr -d ' \n' >/tmp/status
  grep -qF -- "$1" /tmp/status || {
    cat /tmp/status
    return 1
  }
}

systemctl start pandemonium
until_true 300 is_running
loads=$(cat /sys/kernel/sched_ext/enable_seq)

echo "the primary domain"
[[ $(sched PrimaryDomain) == 's "all"' && $(sched PrimaryDomainCpus) == 's ""' ]]
status_has '"primary_domain":{"cpus":null,"domain":"all","mask":null}'
[[ $(pandemonium domain set 0x1) == "0x1: CPU 0" ]]
[[ $(sched PrimaryDomain) == 's "0x1"' && $(sched PrimaryDomainCpus) == 's "0x1"' ]]
status_has '"primary_domain":{"cpus":[0],"domain":"0x1","mask":"0x1"}'
# No CPU here says how fast it is, so none is faster; and no mask of CPUs that are not there is left of one.
[[ $(pandemonium domain set performance) == "performance: every CPU" ]]
[[ $(pandemonium domain set 0x10000000000000000) == "0x10000000000000000: every CPU" ]]
refused 6 "all, performance, powersave, auto or a hexadecimal CPU mask" pandemonium domain set turbo
refused 6 "at least one CPU" pandemonium domain set 0x0
refused 6 1023 pandemonium domain set 0x1"$(printf '0%.0s' {1..256})"
[[ $(pandemonium domain show) == "0x10000000000000000: every CPU" ]]

echo "the idle selector"
[[ $(pandemonium idle-selector) == on && $(sched IdleSelector) == 'b true' ]]
[[ $(pandemonium idle-selector off) == off && $(sched IdleSelector) == 'b false' ]]
status_has '"idle_selector":false'
[[ $(pandemonium idle-selector on --json | tr -d ' \n') == '{"idle_selector":true}' ]]
status_has '"idle_selector":true'
refused 2 "on, off" pandemonium idle-selector maybe

echo "compositors"
pandemonium compositor list | grep -qx 'kwin_wayland\*'
[[ -z $(pandemonium compositor add mywm) ]]
pandemonium compositor list | grep -qx mywm
sched Compositors | grep -q '"mywm"'
names=$(pandemonium compositor list | sed 's/.*/"&"/' | paste -sd,)
status_has "\"compositors\":[$names]"
pandemonium compositor add 'shell*'
pandemonium compositor --json | grep -qF '"shell*"'
pandemonium compositor remove mywm
pandemonium compositor remove 'kwin_wayland*'
for gone in mywm 'kwin_wayland\*'; do
  if pandemonium compositor list | grep -qx "$gone"; then exit 1; fi
done
refused 6 "is not a compositor" pandemonium compositor remove mywm
refused 6 "'/'" pandemonium compositor add a/b
refused 6 "at least 2" pandemonium compositor add 'a*'

echo "an ordinary user sees it all and changes nothing"
before=$(sched PrimaryDomain; sched IdleSelector; sched Compositors)
as_user pandemonium domain show
as_user pandemonium idle-selector
as_user pandemonium compositor list >/dev/null
refused 5 "administrator\|permitted" as_user pandemonium domain set all
refused 5 "administrator\|permitted" as_user pandemonium idle-selector off
refused 5 "administrator\|permitted" as_user pandemonium compositor add theirs
refused 5 "administrator\|permitted" as_user pandemonium compositor remove sway
refused 1 "administrator\|[Aa]uth\|[Pp]ermi\|[Dd]enied" as_user busctl --system call $name $object $name SetPrimaryDomain s all
refused 1 "administrator\|[Aa]uth\|[Pp]ermi\|[Dd]enied" as_user busctl --system call $name $object $name SetIdleSelector b false
refused 1 "administrator\|[Aa]uth\|[Pp]ermi\|[Dd]enied" as_user busctl --system call $name $object $name AddCompositor s theirs
refused 1 "administrator\|[Aa]uth\|[Pp]ermi\|[Dd]enied" as_user busctl --system call $name $object $name RemoveCompositor s sway
[[ $(sched PrimaryDomain; sched IdleSelector; sched Compositors) == "$before" ]]

echo "by any client of the bus"
call SetPrimaryDomain s 0x2
call SetIdleSelector b false
call AddCompositor s otherwm
status_has '"domain":"0x2"'
[[ $(pandemonium idle-selector) == off ]]
pandemonium compositor list | grep -qx otherwm
call SetPrimaryDomain s all
call SetIdleSelector b true

echo "what the idle selector is worth"
pandemonium bench idle --iterations 300 --rounds 2 --threads 2 --warmup 20 >/tmp/bench 2>/tmp/rounds
cat /tmp/rounds /tmp/bench
[[ $(grep -c '^round [12] of 2, idle selector o' /tmp/rounds) == 2 ]]
grep -q '^mean  *[0-9.]* [mun]*s  *[0-9.]* [mun]*s  *[0-9]' /tmp/bench
pandemonium bench idle --iterations 300 --rounds 2 --threads 2 --warmup 20 --json >/tmp/bench.json
tr -d ' \n' </tmp/bench.json | grep -q '"selection_ns":{"gain":[^}]*},"off":[1-9][0-9.]*,"on":[1-9]'
[[ $(pandemonium idle-selector) == on ]]

echo "and all of it without loading the scheduler anew"
is_running
[[ $(cat /sys/kernel/sched_ext/enable_seq) == "$loads" ]]

echo "after a restart of the daemon, and back to the configuration"
pandemonium domain set 0x1
systemctl restart pandemonium
until_true 300 is_running
[[ $(sched PrimaryDomain) == 's "0x1"' ]]
pandemonium compositor list | grep -qx 'shell\*'
if pandemonium compositor list | grep -qx 'kwin_wayland\*'; then exit 1; fi
refused 5 "administrator\|permitted" as_user pandemonium domain reset
[[ $(pandemonium domain reset) == all ]]
pandemonium compositor reset
systemctl restart pandemonium
until_true 300 is_running
[[ $(sched PrimaryDomain) == 's "all"' ]]
pandemonium compositor list | grep -qx 'kwin_wayland\*'
if pandemonium compositor list | grep -qx 'shell\*'; then exit 1; fi
systemctl stop pandemonium
refused 3 "not running" pandemonium domain set all
trap - EXIT

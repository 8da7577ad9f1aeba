#!/bin/bash
# Whatever happens has exactly one entry in the journal, with fields for programs and an explanation for people.
set -Eeu
. ./lib/service.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'journalctl -u pandemonium --no-pager | tail -n 40' EXIT
catalog=/usr/lib/systemd/catalog/pandemonium.catalog
# Those that the catalog explains, by what they are called here.
declare -A ids=(
  [ejected]=dffac7ee9f4a4689b2a074fca5efeba4
  [mode]=f42d91366f5c4ef1aa08400d61c8614f
  [conflict]=74f3a04e37604cbf9fa89715fdfc403f
  [reverted]=215d3b9cbda747edb34ebed0f069ab2f
  [holds]=b219c9b20d734d3a97f52c9cd3cfe634
  [not_loaded]=e632a08d88854ad694afe73e1091ca86
)
# entries ID [OPTION...]: those of the service with this message id.
entries() { journalctl --no-pager --quiet -o cat MESSAGE_ID="${ids[$1]}" SYSLOG_IDENTIFIER=pandemoniumd "${@:2}"; }
# field ID NAME: the field of the newest entry.
field() { entries "$1" -n 1 --output-fields="$2" | tail -n 1; }
# tally: how many of each kind there are, the missing ones left out.
tally() {
  local kind count
  for kind in mode reverted holds ejected conflict not_loaded; do
    count=$(entries "$kind" | wc -l)
    [[ $count == 0 ]] || printf '%s %s\n' "$kind" "$count"
  done | paste -sd' '
}
# There are so many of each kind, and no more.
tally_is() {
  until_true 100 eval "[[ \$(tally) == '$1' ]]" || {
    tally
    return 1
  }
}
# explained ID TEXT: `journalctl -x` explains the newest entry with these words of the catalog, in lines of its own.
explained() {
  entries "$1" -n 1 -x -o short | tee /tmp/lines
  sed 's/^░░ //' /tmp/lines | paste -sd' ' >/tmp/explained
  grep -q ' Subject: .*PANDEMONIUM\| Subject: Another sched_ext' /tmp/explained
  grep -q ' Support: man:pandemoniumd(8)' /tmp/explained
  grep -qF "$2" /tmp/explained
}

echo "every kind is in the catalog, and in this list"
[[ $(grep -c '^-- ' $catalog) == "${#ids[@]}" ]]
for kind in "${!ids[@]}"; do
  grep -q "^-- ${ids[$kind]}$" $catalog
  journalctl --list-catalog "${ids[$kind]}" | grep -q "${ids[$kind]}"
done

echo "a start is none of them"
systemctl start pandemonium
until_true 300 state_is running
tally_is ''

echo "a mode, switched"
set_mode bpf
tally_is 'mode 1'
[[ $(field mode PANDEMONIUM_MODE) == bpf ]]
[[ $(field mode PANDEMONIUM_CALLER) == "user 0" ]]
explained mode "The mode is bpf now, on request of $(field mode PANDEMONIUM_CALLER)."
set_mode bpf
tally_is 'mode 1'

echo "one that nobody confirmed"
call SetMode 'sa{sv}' adaptive 1 confirm-timeout u 600
call Revert
tally_is 'mode 2 reverted 1'
[[ $(field reverted PANDEMONIUM_FROM) == adaptive && $(field reverted PANDEMONIUM_MODE) == bpf ]]
explained reverted "The mode adaptive was to be confirmed and was not (request), so bpf is wanted again"

echo "a hold, cancelled"
pandemonium hold adaptive -- sleep 60 &
holder=$!
has_hold() { sched Holds | grep -q sleep; }
until_true 100 has_hold
tally_is 'mode 3 reverted 1'
set_mode bpf
tally_is 'mode 4 reverted 1 holds 1'
[[ $(sched Holds) == 0 ]]
[[ $(field holds PANDEMONIUM_HOLDS) == *sleep* ]]
explained holds "user 0 asked for another decision"
# It may have left already, now that its hold is gone.
kill $holder || true

echo "ended by SysRq-S"
echo S >/proc/sysrq-trigger
until_true 100 state_is ejected
tally_is 'mode 4 reverted 1 holds 1 ejected 1'
[[ $(field ejected PANDEMONIUM_EXIT_KIND) == sysrq ]]
[[ -n $(field ejected PANDEMONIUM_EXIT_REASON) && $(field ejected PANDEMONIUM_EXIT_CODE) == "$(sched LastExit | cut -d ' ' -f 3)" ]]
explained ejected "The kernel ended the scheduler: sysrq, $(field ejected PANDEMONIUM_EXIT_REASON)."

echo "in the way of another scheduler"
set_mode off
load_foreign
tally_is 'mode 5 reverted 1 holds 1 ejected 1'
fails set_mode adaptive
tally_is 'mode 5 reverted 1 holds 1 ejected 1 conflict 1'
entries conflict | grep -q foreign
explained conflict "It is left alone."
unload_foreign
set_mode adaptive

echo "not allowed to load"
systemctl stop pandemonium
mkdir -p /run/systemd/system/pandemonium.service.d
printf '[Service]\nAmbientCapabilities=\n' >/run/systemd/system/pandemonium.service.d/caps.conf
systemctl daemon-reload
systemctl start pandemonium
until_true 300 state_is stopped
tally_is 'mode 6 reverted 1 holds 1 ejected 1 conflict 1 not_loaded 1'
explained not_loaded "The kernel did not take the scheduler"
[[ $(entries not_loaded -o json | grep -o '"PRIORITY":"[0-9]"') == '"PRIORITY":"3"' ]]
systemctl stop pandemonium
trap - EXIT

#!/bin/bash
# The daemon follows the real UPower, with a battery that the firmware describes, and the real
# power-profiles-daemon; either may be missing, come late, be restarted or be masked.
# acpi: battery
set -Eeu
. ./lib/service.sh
. ./lib/power.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'cat /tmp/heard; journalctl -u pandemonium -u upower -u power-profiles-daemon --no-pager | tail -n 40' EXIT

echo "without either nobody says anything, and nobody is started by being asked"
until_true 300 test -e /sys/class/power_supply/BAT0
run_on mains
systemctl start pandemonium
until_true 300 state_is running
loads=$(cat $sched_ext/enable_seq)
listen /tmp/heard
known '' '' ''
sched PowerMap | grep -q 'power-saver powersave'
call SetPrimaryDomain s auto
call SetPowerMap 'a{ss}' 4 battery 0x2 performance 0x1 power-saver 0x2 ac all
[[ $(sched PrimaryDomain) == auto ]]
known '' '' ''
for service in upower power-profiles-daemon; do
  if systemctl is-active --quiet $service; then exit 1; fi
done

echo "UPower, started late"
systemctl start upower
until_known ac '' ''
[[ $(upower) == 'b false' ]]
run_on battery
until_known battery '' 0x2
[[ $(cat /sys/class/power_supply/ADP1/online) == 0 && $(upower) == 'b true' ]]
run_on mains
until_known ac '' ''
run_on battery
until_known battery '' 0x2

echo "power-profiles-daemon: what it has"
powerprofilesctl list | tee /tmp/profiles
grep -q placeholder /tmp/profiles
until_known battery balanced 0x2
[[ $(profile) == balanced ]]
powerprofilesctl set power-saver
until_known battery power-saver 0x2
run_on mains
until_known ac power-saver 0x2
[[ $(profile) == power-saver ]]
set_profile balanced
until_known ac balanced ''

echo "a program that holds a profile"
powerprofilesctl launch --profile power-saver sleep 30 &
holder=$!
until_known ac power-saver 0x2
kill $holder
until_known ac balanced ''

echo "its driver for tests has the third profile"
mkdir -p /run/systemd/system/power-profiles-daemon.service.d
cat >/run/systemd/system/power-profiles-daemon.service.d/driver.conf <<'CONF'
[Service]
Environment=POWER_PROFILE_DAEMON_FAKE_DRIVER=1
CONF
systemctl daemon-reload
systemctl restart power-profiles-daemon
powerprofilesctl set performance
until_known ac performance 0x1
run_on battery
until_known battery performance 0x1

echo "either may go, and come back"
systemctl stop power-profiles-daemon
until_known battery '' 0x2
systemctl restart upower
until_known battery '' 0x2
systemctl stop upower
until_known '' '' ''

was_told PowerSource ac battery ac battery ac battery '' battery ''

echo "masked is as good as missing"
systemctl mask --runtime upower power-profiles-daemon
[[ $(cat $sched_ext/enable_seq) == "$loads" ]]
systemctl restart pandemonium
until_true 300 state_is running
call SetPrimaryDomain s auto
known '' '' ''
[[ $(sched Warnings) == 0 ]]
[[ -z $(journalctl -u pandemonium -p warning --no-pager --quiet) ]]
systemctl unmask --runtime upower power-profiles-daemon
systemctl stop pandemonium
trap - EXIT

#!/bin/bash
# The daemon follows the real tuned-ppd, which takes the place of power-profiles-daemon, by the same names on the bus.
# acpi: battery
set -Eeu
. ./lib/service.sh
. ./lib/power.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'cat /tmp/heard; journalctl -u pandemonium -u upower -u tuned -u tuned-ppd --no-pager | tail -n 60' EXIT

until_true 300 test -e /sys/class/power_supply/BAT0
run_on mains
dpkg --purge power-profiles-daemon >/dev/null
systemctl start pandemonium
until_true 300 state_is running
listen /tmp/heard
call SetPrimaryDomain s auto
call SetPowerMap 'a{ss}' 3 battery 0x2 performance 0x1 power-saver 0x2
known '' '' ''

echo "tuned-ppd, installed while the daemon runs"
aside() {
  dpkg --force-unsafe-io --install "$@" >/tmp/installed 2>&1 || {
    cat /tmp/installed
    return 1
  }
}
# gawk needs it before it is unpacked.
aside /usr/lib/aside/libsigsegv2_*.deb
aside /usr/lib/aside/*.deb
systemctl start tuned-ppd
[[ $(systemctl show -p ActiveState --value tuned-ppd) == active ]]
until_known ac balanced ''
[[ $(profile) == balanced ]]

echo "a profile that somebody sets"
set_profile power-saver
until_known ac power-saver 0x2
set_profile performance
until_known ac performance 0x1
[[ $(tuned-adm active) == *throughput-performance ]]

echo "on the battery"
run_on battery
until_known battery performance 0x1
set_profile balanced
until_known battery balanced 0x2
[[ $(tuned-adm active) == *balanced-battery ]]
run_on mains
until_known ac balanced ''

echo "a program that holds a profile"
python3 - <<'PY' &
import dbus, time
of = "org.freedesktop.UPower.PowerProfiles"
service = dbus.SystemBus().get_object(of, "/" + of.replace(".", "/"))
service.HoldProfile("power-saver", "a test", "test", dbus_interface=of)
time.sleep(60)
PY
holder=$!
until_known ac power-saver 0x2
kill $holder
until_known ac balanced ''

echo "a profile of tuned that stands for none"
tuned-adm profile latency-performance
until_known ac '' ''
tuned-adm profile powersave
until_known ac power-saver 0x2

echo "it goes, and comes back with what was set last"
systemctl stop tuned-ppd
until_known ac '' ''
systemctl start tuned-ppd
until_known ac power-saver 0x2

was_told PowerSource ac battery ac
was_told PowerProfile balanced power-saver performance balanced power-saver balanced '' power-saver '' power-saver
[[ -z $(journalctl -u pandemonium -p warning --no-pager --quiet) ]]
systemctl stop pandemonium
trap - EXIT

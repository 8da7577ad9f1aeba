# shellcheck shell=bash
# Shared by the tests of what the daemon follows: the machine's power, and what the daemon knows of it. Needs service.sh.

upower() { busctl --system get-property org.freedesktop.UPower /org/freedesktop/UPower org.freedesktop.UPower OnBattery; }
profile() {
  local of=org.freedesktop.UPower.PowerProfiles
  busctl --system get-property $of /org/freedesktop/UPower/PowerProfiles $of ActiveProfile | sed 's/^s "\(.*\)"$/\1/'
}
set_profile() {
  local of=org.freedesktop.UPower.PowerProfiles
  busctl --system set-property $of /org/freedesktop/UPower/PowerProfiles $of ActiveProfile s "$1"
}

# run_on mains|battery: the firmware says so, and tells the kernel.
run_on() {
  local byte='\000'
  [[ $1 == mains ]] || byte='\260'
  # shellcheck disable=SC2059 # one byte
  printf "$byte" | dd of=/dev/port bs=1 seek=$((0x2ff)) conv=notrunc status=none
  udevadm trigger --action=change --subsystem-match=power_supply
}

# known SOURCE PROFILE CPUS
known() { [[ $(sched PowerSource) == "$1" && $(sched PowerProfile) == "$2" && $(sched PrimaryDomainCpus) == "$3" ]]; }
until_known() {
  until_true 300 known "$@" || {
    echo "wanted $*; told $(sched PowerSource) $(sched PowerProfile) $(sched PrimaryDomainCpus)"
    return 1
  }
}
# was_told PROPERTY VALUE...: these values, and no others, one announcement each.
was_told() {
  local property=$1
  shift
  diff <(announced /tmp/heard "$property" | cut -d ' ' -f 2-) <(printf '%s\n' "$@")
}

#!/bin/sh
# The limits that the kernel half works with are those of the CPUs that are online, or of --nr-cpus.
# cpus: 4
# time: single
set -eu
. ./lib/daemon.sh

# limit NAME: what the kernel has in the memory that the scheduler reads.
limit() { bpftool map dump name .data.limits | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p"; }

# limits_are OVERFLOW_MS STARVATION_MS BURST DEFICIT LONGRUN INTERACTIVE DEPTH
limits_are() {
  [ "$(limit overflow_rescue_ns)" = "${1}000000" ] && [ "$(limit starvation_rescue_ns)" = "${2}000000" ] &&
    [ "$(limit burst_wakeups)" = "$3" ] && [ "$(limit deficit_budget)" = "$4" ] &&
    [ "$(limit longrun_budget)" = "$5" ] && [ "$(limit interactive_max)" = "$6" ] &&
    [ "$(limit placement_depth)" = "$7" ]
}
set_online() { echo "$1" >"/sys/devices/system/cpu/cpu$2/online"; }
sees_cpus() { grep '^d/s' /tmp/daemon.log | tail -n 1 | grep -q "cpus: [0-9]*/$1 "; }

start_daemon
limits_are 8 100 32 16 4 16 2 || fail "not the limits of four CPUs: $(bpftool map dump name .data.limits)"
for cpu in 1 2 3; do set_online 0 $cpu; done
wait_for 300 limits_are 4 25 8 2 1 4 1 || fail "not the limits of one CPU: $(bpftool map dump name .data.limits)"
for cpu in 1 2 3; do set_online 1 $cpu; done
wait_for 300 limits_are 8 100 32 16 4 16 2 || fail "not those of four again: $(bpftool map dump name .data.limits)"
still_ours "three CPUs that came and went"
stop_daemon

start_daemon --nr-cpus 2
limits_are 4 50 16 6 2 8 1 || fail "not the limits of --nr-cpus: $(bpftool map dump name .data.limits)"
set_online 0 3
wait_for 300 sees_cpus 3 || fail "the daemon did not notice the CPU that went"
limits_are 4 50 16 6 2 8 1 || fail "--nr-cpus lost against hotplug: $(bpftool map dump name .data.limits)"
set_online 1 3
still_ours "a CPU that came and went"
stop_daemon

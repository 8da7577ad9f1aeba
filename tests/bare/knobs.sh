#!/bin/sh
# In exact virtual time: what the control loop decides, and what is chosen while the scheduler runs, is what the
# kernel half does from then on.
# cpus: 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
. ./lib/cpus.sh

# choose LINE: the configuration is this line from now on.
choose() {
  echo "$1" >/tmp/config.toml
  kill -HUP "$daemon"
}
# slice_us REGIME: the mean slice granted in the last second, of which the regime was this one.
slice_us() { grep '^d/s' /tmp/daemon.log | tail -n 1 | sed -n "s/.*\[$1.* slice: \([0-9]*\)us$/\1/p"; }
# is_on CPU OTHER: the hog runs there.
is_on() {
  sleep 0.5
  mark
  sleep 1
  busy 0 1
  [ "$(busy_cpus 90 "$1")" = 1 ] && [ "$(busy_cpus 40 "$2")" = 0 ]
}

: >/tmp/config.toml
start_daemon --config /tmp/config.toml
# Long enough to be batch work, and idle enough for MIXED: batch slices of at most 10 ms for two CPUs, a
# quarter longer or shorter by how tasks sleep. The default is 20 ms.
pandemonium-workload duty --percent 70 --period-ms 200 --seconds 60 >/dev/null &
duty=$!
sleep 5
[ "$(slice_us MIXED)" -le 12500 ] || fail "what was decided for MIXED is not what is granted"
choose 'mode = "bpf"'
sleep 3
[ "$(slice_us MIXED)" -gt 12500 ] || fail "the mode bpf did not bring the default slices back"
choose 'mode = "adaptive"'
sleep 3
[ "$(slice_us MIXED)" -le 12500 ] || fail "the mode adaptive did not bring its slices back"
kill $duty

pandemonium-workload hog --threads 1 --seconds 60 >/dev/null &
hog=$!
for cpu in 0 1 0; do
  choose "primary_domain = \"0x$((cpu + 1))\""
  is_on $cpu $((1 - cpu)) || fail "the primary domain is CPU $cpu, and the hog elsewhere"
done
kill $hog
grep '^d/s' /tmp/daemon.log
still_ours "what was chosen"
stop_daemon

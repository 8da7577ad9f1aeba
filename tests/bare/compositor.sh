#!/bin/sh
# In exact virtual time: a compositor goes first within its budget, cannot hurt others, and is nobody who only
# has its name.
# cpus: 2
# kernels: newest
# time: virtual
set -eu
. ./lib/daemon.sh
. ./lib/numbers.sh

cp /usr/bin/pandemonium-workload /usr/bin/gnome-shell
cp /usr/bin/pandemonium-workload /usr/bin/myshell
chmod 755 /usr/bin/gnome-shell /usr/bin/myshell

# frames PROGRAM: 6 ms of work every 16 ms for two seconds beside hogs; what it felt like in /tmp/frames.
frames() {
  "$1" duty --name "$1" --threads 1 --percent 40 --period-ms 16 --seconds 2 --json >/tmp/frames
  cat /tmp/frames
}

# compositor PROGRAM: fail unless it gets the frames it wants.
compositor() {
  frames "$1"
  [ "$(field share_permille /tmp/frames)" -ge 300 ] || fail "$1 did not get what it wanted"
}

begin() {
  start_daemon "$@"
  pandemonium-workload hog --threads 8 --seconds 600 >/dev/null &
  hogs=$!
  sleep 3
}

echo "compositors among hogs, one of them named on the command line"
begin --compositor myshell
compositor gnome-shell
compositor myshell

echo "a compositor that computes all the time"
gnome-shell hog --name gnome-shell --threads 1 --seconds 3 >/dev/null &
shell=$!
sleep 0.5
hogs_before=$(ticks $hogs) shell_before=$(ticks $shell)
sleep 2
hogs_ticks=$(($(ticks $hogs) - hogs_before)) shell_ticks=$(($(ticks $shell) - shell_before))
wait $shell
echo "eight hogs ran for $hogs_ticks ticks, the compositor for $shell_ticks"
[ $((shell_ticks * 80)) -lt $((hogs_ticks * 13)) ] || fail "it took more than a hog"
kill $hogs
still_ours compositors
stop_daemon
echo "boosted $(total boosts) times, budget spent $(total boosts_spent) times"
[ "$(total boosts)" -gt 200 ] || fail "boosted only $(total boosts) times"
[ "$(total boosts_spent)" -gt 0 ] || fail "the budget was never used up"

echo "those who only have the name"
begin
# What it gets is no sign: any program that sleeps enough between its frames, and this one may, goes before hogs.
frames myshell
kill $hogs
pandemonium-workload duty --name gnome-shell --threads 1 --percent 20 --period-ms 16 --seconds 1
chmod 777 /usr/bin/gnome-shell
gnome-shell duty --name gnome-shell --threads 1 --percent 20 --period-ms 16 --seconds 1
chmod 755 /usr/bin/gnome-shell
chown 1000 /usr/bin/gnome-shell
gnome-shell duty --name gnome-shell --threads 1 --percent 20 --period-ms 16 --seconds 1
still_ours pretenders
stop_daemon
[ "$(total boosts)" = 0 ] || fail "boosted $(total boosts) times"

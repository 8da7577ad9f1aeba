#!/bin/sh
# In exact virtual time: CPU-bound control groups share the CPUs by cpu.weight, however many tasks they have.
# cpus: 2
# kernels: newest
# time: virtual
# Variables by name, through eval.
# shellcheck disable=SC2034,SC2154
set -eu
. ./lib/daemon.sh
. ./lib/numbers.sh

root=/sys/fs/cgroup
echo +cpu >$root/cgroup.subtree_control

# group NAME WEIGHT
group() {
  mkdir -p "$root/$1"
  echo "$2" >"$root/$1/cpu.weight"
}

# hogs GROUP THREADS [WORKLOAD]: computes in the group from now on; its process is $hogs.
hogs() {
  sh -c "echo \$\$ >$root/$1/cgroup.procs && exec pandemonium-workload ${3-hog} --seconds 600 --threads $2" >/dev/null &
  hogs=$!
}

# measure GROUP...: what each group received in two seconds, permille of all of them, as $permille_GROUP.
measure() {
  for name; do eval "before_$name=$(used "$name")"; done
  sleep 2
  all=0
  for name; do
    eval "used_$name=\$(($(used "$name") - before_$name)); all=\$((all + used_$name))"
  done
  for name; do eval "permille_$name=\$((used_$name * 1000 / all))"; done
}

# used NAME: microseconds; of a nested group by the last part of its path, which is unique here.
used() { sed -n 's/^usage_usec //p' "$(find $root -type d -name "$1")/cpu.stat"; }

# It comes to a machine that is busy already, and stays so.
group a 100
group b 300
hogs a 8 && a=$hogs
hogs b 4 && b=$hogs
start_daemon
sleep 1
measure a b
near "$permille_b" 750 15 "eight hogs of weight 100 against four of 300: these get"

echo 100 >$root/b/cpu.weight
sleep 0.5
measure a b
near "$permille_b" 500 15 "the same at equal weights"

echo "a hog alone in a third group, then among the eight, then back"
group d 100
hogs d 1 && d=$hogs
sleep 0.5
measure a b d
near "$permille_d" 333 15 "alone in its group it gets"
before=$(ticks "$d")
echo "$d" >$root/a/cgroup.procs
sleep 2
moved=$(($(ticks "$d") - before))
# A ninth of half of two CPUs for two seconds.
near "$moved" 22 35 "among eight others, ticks"
echo "$d" >$root/d/cgroup.procs
sleep 0.5
measure a b d
near "$permille_d" 333 15 "back again it gets"
kill "$d"

echo 1 >$root/b/cpu.idle
sleep 0.5
measure a b
echo "an idle group gets $permille_b permille"
[ "$permille_b" -lt 80 ] || fail "an idle group got $permille_b permille"
kill "$a" "$b"

echo "what binds itself anew all the time"
group f 100
group g 300
hogs f 4 affinity-churn && f=$hogs
hogs g 4 && g=$hogs
sleep 1
measure f g
near "$permille_f" 250 15 "four that change themselves, of weight 100 against four of 300: these get"
kill "$f" "$g"

echo "groups in groups"
group p 100
group q 100
echo +cpu >$root/p/cgroup.subtree_control
group p/x 100
group p/y 300
hogs p/x 3 && x=$hogs
hogs p/y 3 && y=$hogs
hogs q 3 && q=$hogs
sleep 1
measure q x y
near "$permille_q" 500 20 "beside a group with two inside, one gets"
near "$permille_x" 125 20 "the lighter inside"
near "$permille_y" 375 20 "the heavier inside"
kill "$x" "$y" "$q"
still_ours groups
stop_daemon

# Shared by the bare tests: numbers out of what programs print.

# total NAME: what the counter came to in the run of the daemon that just ended.
total() { sed -n "s/^totals:.* $1=\([0-9]*\).*/\1/p" /tmp/daemon.log; }

# field NAME FILE: a number of a workload's --json.
field() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$2"; }

# ticks PID: CPU time of all threads of a process, in hundredths of a second.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# near VALUE EXPECTED PERCENT WHAT: fail if VALUE is further than PERCENT of it from EXPECTED.
near() {
  echo "$4: $1, expected $2"
  [ $(($1 * 100)) -ge $(($2 * (100 - $3))) ] && [ $(($1 * 100)) -le $(($2 * (100 + $3))) ] ||
    fail "$4: $1 is not within $3 % of $2"
}

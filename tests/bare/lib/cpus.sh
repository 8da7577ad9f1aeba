# Shared by the bare tests: which CPUs work is on, whether the kernel itself works, and what the daemon counted.

# mark: from here on, busy counts.
mark() { grep '^cpu[0-9]' /proc/stat >/tmp/mark; }

# busy CPU...: the percentage of the time since the mark that each CPU was busy, one per line.
busy() {
  grep '^cpu[0-9]' /proc/stat >/tmp/now
  for cpu; do
    awk -v name="cpu$cpu" '
      $1 == name { all = 0; for (i = 2; i <= 9; i++) all += $i; idle = $5 + $6; n++ }
      $1 == name && n == 1 { all_before = all; idle_before = idle }
      END { all -= all_before; idle -= idle_before; print (all > 0 ? int(100 - 100 * idle / all) : 0) }
    ' /tmp/mark /tmp/now
  done
}

# busy_cpus PERCENT CPU...: how many of these CPUs were busy for at least that part of the time.
busy_cpus() {
  least=$1
  shift
  busy "$@" | awk -v least="$least" '$1 >= least { n++ } END { print n + 0 }'
}

# total NAME: a counter over the whole run of the daemon, which has ended.
total() { sed -n "s/^totals:.* $1=\([0-9]*\).*/\1/p" /tmp/daemon.log; }

# The kernel's tests of its own ciphers compute on two CPUs for seconds after the start.
is_at_rest() { ! grep -qs '^cryptomgr_test$' /proc/[0-9]*/comm; }
wait_for_rest() { wait_for 100 is_at_rest || fail "the kernel does not come to rest"; }

# shellcheck shell=bash
# What every command shares: errors, named steps with their time, the count of passed and failed ones, locks.

passed=0
failed=0

# die SENTENCE: end with one sentence.
die() {
  echo "dev: $1" >&2
  exit 1
}

# note SENTENCE: tell the person what happens.
note() {
  echo "dev: $1" >&2
}

# step NAME COMMAND...: run COMMAND, keep its output in build/logs, print one line, count the outcome.
# Never fails itself, so that the steps after it run too.
step() {
  local name=$1 log status start=$SECONDS
  shift
  log=$top/build/logs/${name//[^[:alnum:]._-]/-}.log
  mkdir -p "$top/build/logs"
  printf '%-44s ' "$name"
  # Not `if ("$@")`: bash would then ignore every error inside the command but the last.
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1 </dev/null
  status=$?
  set -e
  if ((status == 0)); then
    passed=$((passed + 1))
    echo "ok      $((SECONDS - start)) s"
  else
    failed=$((failed + 1))
    echo "FAILED  $((SECONDS - start)) s"
    tail -n 200 "$log" | sed 's/^/    /'
    echo "    (everything it said: ${log#"$top"/})"
  fi
}

# Steps that run in the background: the file with its words of each process.
declare -A waiting=()

# background_step NAME COMMAND...: a step that needs one core; two of them run at a time.
background_step() {
  local words
  ((${#waiting[@]} < 2)) || collect_step
  words=$(mktemp)
  lone_step "$@" >"$words" 2>&1 &
  waiting[$!]=$words
}

# lone_step NAME COMMAND...: a step in a process of its own, whose status says how it went.
lone_step() {
  failed=0
  step "$@"
  return "$failed"
}

# collect_step: wait until one of the steps in the background has ended, and show and count it.
collect_step() {
  local ended
  if wait -n -p ended "${!waiting[@]}"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  cat "${waiting[$ended]}"
  rm "${waiting[$ended]}"
  unset "waiting[$ended]"
}

# collect_steps: the same for all of them.
collect_steps() {
  while ((${#waiting[@]})); do
    collect_step
  done
}

# summary: the last line of a run; fails if a step failed.
summary() {
  echo "$passed passed, $failed failed"
  ((failed == 0))
}

# locked NAME COMMAND...: run COMMAND while no other run holds the lock NAME.
locked() {
  local lock=$cache/$1.lock
  shift
  (
    flock --nonblock 9 || {
      note "waits for another run to finish the same work"
      flock 9
    }
    "$@" 9>&-
  ) 9>"$lock"
}

# logged COMMAND...: run COMMAND quietly; its output is shown if it fails.
logged() {
  local log=$top/build/logs/$1.log
  mkdir -p "$top/build/logs"
  (
    trap 'status=$?; ((status == 0)) || cat "$log" >&2' EXIT
    "$@" >"$log" 2>&1
  )
}

# timed NAME COMMAND...: run COMMAND in the open, then say how long it took.
timed() {
  local name=$1 start=$SECONDS
  shift
  note "$name"
  "$@"
  note "$name: done in $((SECONDS - start)) s"
}

# shellcheck shell=bash
# `dev bench`: the whole set under each scheduler, in virtual machines. Everything here runs inside the build image.

# Released packages that ours is held against: name, crate, version.
bench_peers=(
  'bpfland scx_bpfland 1.1.4'
  'cosmos scx_cosmos 1.1.7'
  'lavd scx_lavd 1.1.4'
  'upstream scx_pandemonium 5.23.1'
  'cake scx_cake 1.2.2'
)
# Seconds for each workload in a round, and rounds. Virtual time repeats to the byte, but what it repeats is one of
# many coincidences: the median of three is less of a coincidence. The short form has one.
bench_seconds=1
bench_rounds=3
# Wall time after which a machine is ended.
bench_timeout=2400
# The kernel; some builds of the newest one refuse programs that call what they have lost.
bench_kernel=newest
# Rounds of the second judge, in turn: an interval of 95 % needs six.
bench_parallel_rounds=7
bench_parallel_seconds=4
bench_parallel_rows=build,wakeup,burst,mixed,ipc,launch
# What the regression gate measures: the rows that do not come out quite differently when an instruction moves.
bench_gate_rows=wakeup,ipc,launch,pipe,starvation

command_bench() {
  local cpus=2,4,8,12 schedulers=eevdf,adaptive,bpf judge=virtual words=() dir
  local seconds='' rounds=''
  if [[ ${1-} == compare ]]; then
    timed "builds the programs" logged build_programs
    "$(built_program pandemonium)" bench "$@"
    return
  fi
  while (($#)); do
    case $1 in
      --cpus) cpus=${2:?--cpus needs numbers} ;;
      --schedulers) schedulers=${2:?--schedulers needs names} ;;
      --seconds) seconds=${2:?--seconds needs a number} ;;
      --rows) words+=(--rows "${2:?--rows needs names}") ;;
      --kernel) bench_kernel=${2:?--kernel needs newest, oldest or a file} ;;
      --rounds) rounds=${2:?--rounds needs a number} ;;
      --short) rounds=1 ;;
      --trace) words+=(--trace) ;;
      --parallel | --gate) judge=${1#--} ;;
      *) die "bench knows no option '$1'" ;;
    esac
    case $1 in
      --short | --trace | --parallel | --gate) shift ;;
      *) shift 2 ;;
    esac
  done
  timed "builds the programs" logged build_programs
  if [[ $judge == gate ]]; then
    bench_gate
    return
  fi
  dir=$top/build/bench/${PANDEMONIUM_BUILD:-unversioned}
  # What two kernels say is not comparable.
  [[ $bench_kernel == newest ]] || dir+=-$(basename "$bench_kernel")
  mkdir -p "$dir/logs"
  if [[ $judge == parallel ]]; then
    bench_parallel "$dir" "$schedulers" "${rounds:-$bench_parallel_rounds}" \
      --seconds "${seconds:-$bench_parallel_seconds}" "${words[@]}"
  else
    bench_virtual "$dir" "$cpus" "$schedulers" --rounds "${rounds:-$bench_rounds}" \
      --seconds "${seconds:-$bench_seconds}" "${words[@]}"
  fi
  cat "$dir"/logs/*.log >"$dir/bench.log"
  "$(built_program pandemonium-workload)" report "$dir/bench.log" --dir "$dir"
  note "results.prom, report.txt, report.md, bench.log and plots are in ${dir#"$top"/}"
}

# bench_virtual DIR CPUS SCHEDULERS WORD...: a machine in exact virtual time for each scheduler and number of CPUs.
bench_virtual() {
  local dir=$1 cpus scheduler all_cpus all_schedulers
  vm_time=virtual
  IFS=, read -ra all_cpus <<<"$2"
  IFS=, read -ra all_schedulers <<<"$3"
  shift 3
  for cpus in "${all_cpus[@]}"; do
    for scheduler in "${all_schedulers[@]}"; do
      # What else is in a machine must not depend on what was measured before.
      vm_programs=()
      bench_prepare "$scheduler" || continue
      bench_machine "$dir/logs/virtual-$cpus-$scheduler.log" "$cpus" \
        "$(bench_command "$scheduler" --time virtual "$@")" ||
        note "$scheduler at $cpus CPUs did not finish: ${dir#"$top"/}/logs/virtual-$cpus-$scheduler.log says why"
    done
  done
}

# bench_parallel DIR SCHEDULERS ROUNDS WORD...: the second judge: true parallelism, rounds of all schedulers in turn.
bench_parallel() {
  local dir=$1 rounds=$3 scheduler round all_schedulers commands=()
  IFS=, read -ra all_schedulers <<<"$2"
  shift 3
  [[ " $* " == *' --rows '* ]] || set -- --rows "$bench_parallel_rows" "$@"
  for ((round = 1; round <= rounds; round++)); do
    for scheduler in "${all_schedulers[@]}"; do
      bench_prepare "$scheduler" || continue
      commands+=("$(bench_command "$scheduler" --time real --round "$round" "$@")")
    done
  done
  vm_time=multi
  bench_machine "$dir/logs/parallel.log" 2 "${commands[@]}" || note "not every round was finished"
}

# bench_prepare SCHEDULER: its program, for the next machines; fails with one line if there is none.
bench_prepare() {
  local peer name crate version root
  case $1 in eevdf | adaptive | bpf) return ;; esac
  for peer in "${bench_peers[@]}"; do
    read -r name crate version <<<"$peer"
    [[ $name == "$1" ]] || continue
    root=$cache/peers/$crate-$version
    if [[ ! -x $root/bin/$crate ]]; then
      timed "builds $crate $version (once)" bench_install "$root" "$crate" "$version" || {
        note "$1 is left out: $crate $version cannot be built; build/logs/bench_install.log says why"
        return 1
      }
    fi
    vm_programs[$1]=$root/bin/$crate
    return
  done
  die "bench knows no scheduler '$1'"
}

bench_install() {
  mkdir -p "$top/build/logs"
  locked peers cargo install --locked --root "$1" --target-dir "$cache/peers/target" "$2@$3" \
    >"$top/build/logs/bench_install.log" 2>&1
}

# bench_command SCHEDULER WORD...: the line of the guest that measures it.
bench_command() {
  local scheduler=$1 start=''
  shift
  case $scheduler in
    eevdf) ;;
    adaptive) start='pandemoniumd --no-bus --state-dir /tmp/state' ;;
    bpf) start='pandemoniumd --no-bus --state-dir /tmp/state --no-adaptive' ;;
    *) start=$(basename "${vm_programs[$scheduler]}") ;;
  esac
  echo "pandemonium-workload suite --scheduler $scheduler $*${start:+ --start "'$start'"}"
}

# bench_machine LOG CPUS LINE...: a bare VM that runs the lines; progress on the terminal, everything in LOG.
bench_machine() {
  local log=$1 cpus=$2 work status=0
  shift 2
  work=$(mktemp -d)
  {
    # A kernel that has just booted is not done yet.
    echo 'status=0; sleep 5'
    printf '%s || status=1\n' "$@"
    # shellcheck disable=SC2016 # for the guest
    echo 'exit $status'
  } >"$work/bench.sh"
  # Progress is only shown: a machine that told of none may still have ended well.
  bare_vm "$bench_kernel" "$cpus" "$work/bench.sh" "$bench_timeout" | tee "$log" |
    { grep --line-buffered '^[0-9]* of [0-9]*, ' || true; } || status=$?
  remove_tree "$work"
  return "$status"
}

# bench_gate: a part of the set twice, side by side: it has to say the same to the byte, and to hold the baseline.
bench_gate() {
  local dir=$top/build/bench/gate words scheduler lines=() first status=0
  words=(--time virtual --seconds "$bench_seconds" --rounds "$bench_rounds" --rows "$bench_gate_rows")
  for scheduler in eevdf adaptive; do
    lines+=("$(bench_command "$scheduler" "${words[@]}")")
  done
  mkdir -p "$dir"
  rm -f "$dir"/*
  vm_time=virtual
  bench_machine "$dir/first.log" 2 "${lines[@]}" >/dev/null &
  first=$!
  bench_machine "$dir/second.log" 2 "${lines[@]}" || status=$?
  wait "$first" || status=$?
  ((status == 0)) || die "a machine did not finish: the logs in build/bench/gate say why"
  cmp "$dir/first.log" "$dir/second.log" || die "the same command twice did not give the same bytes"
  "$(built_program pandemonium-workload)" report "$dir/first.log"
  "$(built_program pandemonium-workload)" gate "$top/tests/bench-baseline.txt" "$dir/first.log"
}

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
# The turns of CPUs in virtual time that the figures are of, us.
bench_turn_us=$vm_turn_us
# Seconds for each workload in a round, and rounds. Virtual time repeats to the byte, but what it repeats is one of
# many coincidences: the median of three is less of a coincidence. The short form has one.
bench_seconds=1
bench_rounds=3
# Wall time after which a machine is ended: at least so long, and so long for each second of a row and round; where time
# is the host's, with all schedulers in turn, the other one.
bench_timeout=2400
bench_patience=20
bench_parallel_patience=5
# The kernel; some builds of the newest one refuse programs that call what they have lost.
bench_kernel=newest
# Rounds of the second judge, in turn: an interval of 95 % needs six.
bench_parallel_rounds=7
bench_parallel_seconds=4
bench_parallel_rows=build,wakeup,burst,mixed,ipc,launch
# What the regression gate measures: the rows that do not come out quite differently when an instruction moves. From
# the second round on the daemon knows the programs. In a second there are fifty launches, and the slowest would be their p99.
bench_gate_seconds=2
bench_gate_rows=wakeup,burst,ipc,launch,pipe,starvation
# How cost grows with CPUs. Everything else has one, where a path costs its instructions and nothing else, but the
# largest crowd, which needs this many. A machine with 32 CPUs takes four minutes.
bench_growth_crowd=4
bench_growth_cpus=2,8,16,32,64

# Schedulers that need no building.
bench_own=(eevdf adaptive bpf)

# What the command line asks for; bench_options fills it.
bench_judge=virtual
bench_renews=
bench_cpus=2,4,8,12
bench_schedulers=eevdf,adaptive,bpf
bench_words=()
bench_rows_asked=
bench_asked_seconds=
bench_asked_rounds=
# Set once something that was asked for could not be measured.
bench_is_incomplete=

# bench_options ARGUMENT...: takes the command line apart; what cannot be measured is refused before anything is built.
bench_options() {
  local rows asked=" $* "
  mapfile -t rows < <(bench_rows)
  while (($#)); do
    case $1 in
      --cpus | --schedulers | --seconds | --rows | --kernel | --rounds | --turn)
        [[ -n ${2-} ]] || die "bench $1 needs a value: ./dev --help says which"
        ;;
    esac
    case $1 in
      --cpus) bench_cpus=$2 ;;
      --schedulers) bench_schedulers=$2 ;;
      --seconds) bench_asked_seconds=$(bench_number "$1" "$2" 86400) || exit ;;
      --rows)
        bench_known rows "$2" "${rows[@]}"
        bench_words+=(--rows "$2")
        bench_rows_asked=$2
        ;;
      --kernel) bench_kernel=$2 ;;
      --rounds) bench_asked_rounds=$(bench_number "$1" "$2" 100) || exit ;;
      --turn) vm_turn_us=$(bench_number "$1" "$2" 1000) || exit ;;
      --short) bench_asked_rounds=1 ;;
      --trace) bench_words+=(--trace) ;;
      --renew) bench_renews=1 ;;
      --parallel | --gate | --growth) bench_judge=${1#--} ;;
      *) die "bench knows no option '$1'" ;;
    esac
    case $1 in
      --short | --trace | --renew | --parallel | --gate | --growth) shift ;;
      *) shift 2 ;;
    esac
  done
  case $bench_judge in
    gate) bench_refuse "$asked" cpus schedulers rows rounds seconds short kernel trace turn parallel growth ;;
    growth) bench_refuse "$asked" cpus rows trace turn renew parallel gate ;;
    parallel) bench_refuse "$asked" cpus turn renew gate growth ;;
    *) bench_refuse "$asked" renew ;;
  esac
  bench_known schedulers "$bench_schedulers" "${bench_own[@]}" "${bench_peers[@]%% *}"
  [[ $bench_cpus =~ ^[1-9][0-9]{0,2}(,[1-9][0-9]{0,2})*$ ]] ||
    die "--cpus takes numbers of CPUs with commas between them, such as 2,8, not '$bench_cpus'"
  bench_once CPUs "$bench_cpus"
  [[ $bench_judge == parallel || ,$bench_rows_asked, != *,build,* ]] ||
    die "bench --rows build needs --parallel: in virtual time an idle CPU makes the others faster"
  [[ $bench_kernel == @(newest|oldest) || -e $bench_kernel ]] ||
    die "--kernel takes newest, oldest or a file, and there is no file '$bench_kernel'"
  [[ $bench_kernel != oldest ]] || needed_kernel oldest >/dev/null
}

# bench_refuse ASKED OPTION...: fails if one of these options is asked for, which this judge would not heed.
bench_refuse() {
  local option
  for option in "${@:2}"; do
    [[ $1 != *" --$option "* ]] || die "bench --$option says nothing together with the judge '$bench_judge': ./dev --help says what goes together"
  done
}

# bench_rows: every workload there is, by name. The benchmark's own list is the only one.
bench_rows() {
  sed -n '/workload($/ { n; s/^ *"\([a-z]*\)",$/\1/p }' "$top/bench/src/suite.rs"
}

# bench_known WHAT NAMES KNOWN...: fails unless each of NAMES, with commas between them, is known.
bench_known() {
  local what=$1 names name
  bench_once "$1" "$2"
  IFS=, read -ra names <<<"$2"
  # After a last comma there is a name too, which is empty.
  [[ -n $2 && $2 != *, ]] || names+=('')
  shift 2
  for name in "${names[@]}"; do
    [[ $name =~ ^[a-z]+$ && " $* " == *" $name "* ]] || die "bench knows no $what '$name'; it knows $*"
  done
}

# bench_once WHAT NAMES: fails if one of NAMES, with commas between them, is there twice.
bench_once() {
  local twice
  twice=$(tr , '\n' <<<"$2" | sort | uniq -d | head -n 1)
  [[ -z $twice ]] || die "bench has '$twice' twice among its $1: once is enough"
}

# bench_number OPTION VALUE MOST: the value, if it is a number from 1 to MOST.
bench_number() {
  if [[ ! $2 =~ ^[1-9][0-9]{0,5}$ ]] || (($2 > $3)); then
    die "$1 takes a number from 1 to $3, not '$2'"
  fi
  echo "$2"
}

command_bench() {
  local dir time=virtual
  if [[ ${1-} == compare ]]; then
    timed "builds the programs" logged build_programs
    "$(built_program pandemonium)" bench "$@"
    return
  fi
  bench_options "$@"
  timed "builds the programs" logged build_programs
  if [[ $bench_judge == gate ]]; then
    bench_gate
    return
  fi
  dir=$top/build/bench/${PANDEMONIUM_BUILD:-unversioned}
  # What two kernels say is not comparable.
  [[ $bench_kernel == newest ]] || dir+=-$(basename "$bench_kernel")
  [[ $vm_turn_us == "$bench_turn_us" ]] || dir+=-turn$vm_turn_us
  # Machines of its own, which the table of the whole set does not have.
  [[ $bench_judge != growth ]] || dir+=-growth
  mkdir -p "$dir/logs"
  bench_alone "$dir"
  [[ $bench_judge != parallel ]] || time=parallel
  bench_forget "$dir" "$time"
  bench_be_patient
  if [[ $bench_judge == parallel ]]; then
    bench_parallel "$dir" "$bench_schedulers" "${bench_asked_rounds:-$bench_parallel_rounds}" \
      --seconds "${bench_asked_seconds:-$bench_parallel_seconds}" "${bench_words[@]}"
  elif [[ $bench_judge == growth ]]; then
    bench_growth "$dir" --rounds "${bench_asked_rounds:-1}" --seconds "${bench_asked_seconds:-$bench_seconds}"
  else
    bench_virtual "$dir" "$bench_cpus" "$bench_schedulers" --rounds "${bench_asked_rounds:-$bench_rounds}" \
      --seconds "${bench_asked_seconds:-$bench_seconds}" "${bench_words[@]}"
  fi
  compgen -G "$dir/logs/*.log" >/dev/null || die "nothing was measured"
  cat "$dir"/logs/*.log >"$dir/bench.log"
  "$(built_program pandemonium-workload)" report "$dir/bench.log" --dir "$dir"
  note "results.prom, report.txt, report.md, bench.log and plots are in ${dir#"$top"/}"
  [[ -z $bench_is_incomplete ]] || die "not everything that was asked for was measured"
}

# bench_alone DIR: nobody else measures there until this process ends: logs of two would be put together.
bench_alone() {
  exec {bench_lock}>"$1/lock"
  flock --nonblock "$bench_lock" || die "another run measures the same build: wait for it, or use another clone"
}

# bench_forget DIR TIME: what a judge said before may have been asked of other rows and for another time, and whatever
# was said of other programs is no part of this report.
bench_forget() {
  local dir=$1 programs
  programs=$(sha256sum "$(built_program pandemonium-workload)" "$(built_program pandemoniumd)" | cut -d ' ' -f 1)
  [[ $programs == "$(cat "$dir/programs" 2>/dev/null)" ]] || rm -f "$dir"/logs/*.log
  echo "$programs" >"$dir/programs"
  rm -f "$dir/logs/$2"*.log "$dir"/{results.prom,report.txt,report.md,bench.log,*.svg}
}

# bench_be_patient: what takes long because it was asked for is no machine that hangs.
bench_be_patient() {
  local names schedulers wall per=$bench_patience
  IFS=, read -ra names <<<"${bench_rows_asked:-$(bench_rows | paste -sd ,)}"
  IFS=, read -ra schedulers <<<"$bench_schedulers"
  [[ $bench_judge != parallel ]] || per=$((bench_parallel_patience * ${#schedulers[@]}))
  wall=$((${#names[@]} * ${bench_asked_seconds:-1} * ${bench_asked_rounds:-1} * per))
  ((wall <= bench_timeout)) || bench_timeout=$wall
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
        "$(bench_command "$scheduler" --time virtual "$@")" || {
        bench_is_incomplete=1
        note "$scheduler at $cpus CPUs did not finish: ${dir#"$top"/}/logs/virtual-$cpus-$scheduler.log says why"
      }
    done
  done
}

# bench_growth DIR WORD...: what a wake-up costs as tasks, known programs and CPUs grow in number.
bench_growth() {
  local dir=$1
  shift
  bench_virtual "$dir" 1 "$bench_schedulers" --rows runnable,names,pipe "$@"
  bench_virtual "$dir" "$bench_growth_crowd" "$bench_schedulers" --rows runnable,pipe "$@"
  bench_virtual "$dir" "$bench_growth_cpus" "$bench_schedulers" --rows started,pipe "$@"
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
  vm_stays_multi=1
  bench_machine "$dir/logs/parallel.log" 2 "${commands[@]}" || {
    bench_is_incomplete=1
    note "the rounds did not all finish: ${dir#"$top"/}/logs/parallel.log says why"
  }
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
      note "builds $crate $version (once)"
      bench_install "$root" "$crate" "$version" || {
        note "$1 is left out: $crate $version cannot be built; build/logs/bench_install.log says why"
        bench_is_incomplete=1
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

# bench_gate: a part of the set has to hold the baseline, and the same command twice to say the same to the byte.
bench_gate() {
  local dir=$top/build/bench/gate baseline=$top/tests/bench-baseline.txt words=(--time virtual --rows "$bench_gate_rows")
  local measured=(--seconds "$bench_gate_seconds" --rounds "$bench_rounds") repeated=(--seconds 1 --rounds 1)
  [[ -n $bench_renews || -e $baseline ]] || die "there is no ${baseline#"$top"/}: ./dev bench --gate --renew makes it"
  mkdir -p "$dir"
  rm -f "$dir"/*
  vm_time=virtual
  bench_gate_machines eevdf "$(bench_command eevdf "${words[@]}" "${measured[@]}")" \
    adaptive "$(bench_command adaptive "${words[@]}" "${measured[@]}")"
  bench_gate_machines once "$(bench_command adaptive "${words[@]}" "${repeated[@]}")" \
    twice "$(bench_command adaptive "${words[@]}" "${repeated[@]}")"
  cmp "$dir/once.log" "$dir/twice.log" || die "the same command twice did not give the same bytes"
  cat "$dir/eevdf.log" "$dir/adaptive.log" >"$dir/bench.log"
  "$(built_program pandemonium-workload)" report "$dir/bench.log"
  "$(built_program pandemonium-workload)" gate ${bench_renews:+--renew} "$baseline" "$dir/bench.log"
}

# bench_gate_machines NAME LINE NAME LINE: two machines side by side, each with a log of that name.
bench_gate_machines() {
  local dir=$top/build/bench/gate first status=0
  bench_machine "$dir/$1.log" 2 "$2" >/dev/null &
  first=$!
  bench_machine "$dir/$3.log" 2 "$4" || status=$?
  wait "$first" || status=$?
  ((status == 0)) || die "a machine did not finish: the logs in build/bench/gate say why"
}

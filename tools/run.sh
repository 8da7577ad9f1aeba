# shellcheck shell=bash
# `dev run`: the scheduler at work, in the system VM or on this machine.

command_run() {
  local seconds='' cpus=2 work arguments words
  if [[ ${1-} == --here ]]; then
    run_here
    return
  fi
  while (($#)); do
    case $1 in
      --seconds) seconds=${2:?--seconds needs a number} ;;
      --cpus) cpus=${2:?--cpus needs a number} ;;
      *) die "run knows no option '$1'" ;;
    esac
    shift 2
  done
  timed "builds the programs" logged build_programs
  timed "builds the package" logged package

  if [[ -t 0 && -t 1 ]]; then
    work=$(mktemp -d)
    mapfile -t arguments <<<"$(system_arguments "$work" "$cpus" "$top/tools/guest")"
    note "starts the machine; q ends it, Ctrl-A X ends it at once"
    words="watch ${seconds:-0} $(stty size)"
    # However the person ended the machine is fine.
    qemu-system-x86_64 -nographic "${arguments[@]}" -append "$(system_append play "$words")" || true
    remove_tree "$work"
  else
    note "starts the machine"
    system_vm "$cpus" "$top/tools/guest/play" "$((${seconds:-60} + 360))" report "${seconds:-60}"
  fi
}

here_possible() {
  ((EUID == 0)) || die "run --here needs root"
  [[ -d /sys/kernel/sched_ext ]] || die "this machine's kernel has no sched_ext: run it without --here"
}

# The package is laid over the image in this private mount namespace, so that the bus, polkit and the daemon
# find their files; the kernel is the machine's own.
run_here() {
  local stage=$CARGO_TARGET_DIR/package/stage status=0
  timed "builds the programs" logged build_programs
  timed "builds the package" logged package
  mkdir -p "$stage/etc" /tmp/etc /tmp/work
  mount -t overlay -o "lowerdir=$stage/usr:/usr" package /usr
  mount -t overlay -o "lowerdir=$stage/etc:/etc,upperdir=/tmp/etc,workdir=/tmp/work" package /etc
  mount -t tmpfs state /var/lib
  systemd-sysusers pandemonium.conf
  install -d -o pandemonium -g pandemonium /var/lib/pandemonium /run/pandemonium

  # Ctrl-C ends the monitor, and the end of this script everything else.
  trap : INT
  # shellcheck disable=SC2046 # one word per job
  trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
  dbus-daemon --system --nofork --nopidfile &
  sleep 1
  /usr/lib/polkit-1/polkitd --no-debug &
  STATE_DIRECTORY=/var/lib/pandemonium RUNTIME_DIRECTORY=/run/pandemonium setpriv \
    --reuid pandemonium --regid pandemonium --clear-groups \
    --inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon /usr/libexec/pandemoniumd &
  sleep 3
  "$(built_program pandemonium-workload)" mixed --seconds 86400 >/dev/null &
  if [[ -t 0 && -t 1 ]]; then
    pandemonium monitor || status=$?
  else
    sleep 60
    pandemonium status || status=$?
  fi
  return "$status"
}

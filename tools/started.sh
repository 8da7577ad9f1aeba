# shellcheck shell=bash
# Machines that have started: kept once, in a file, and gone on from by every test that wants the same machine. To start
# one takes an emulator longer than most tests. Everything here runs inside the build image.
#
# The guest stops its own machine where it waits for the number of a script (tools/guest/await-script.c), which in exact
# virtual time is the same instruction each time. QEMU writes the machine to a file as if it moved to another host. Two that
# go on from it need not be equal to the byte, so the benchmark starts its own.

# What a machine that can be kept has besides.
started_arguments=(-device "pvpanic-pci,addr=0x10" -action panic=pause)
# Where that device has the register for the number of the script: bus 0, device 0x10, 0x3c.
script_register=0x8000803c

# The kernel parameter guest.script of a machine that waits.
script_later=later

# can_go_on: whether the next machine may be one that has started for another script as well: its settings are what
# all have, and to start it takes an emulator.
can_go_on() {
  [[ -n $vm_shared_start && $vm_time != multi && -z $vm_append && ${#vm_qemu[@]} == 0 ]] &&
    [[ $vm_time == virtual || $(accel) == tcg ]]
}

# started_file NAME FILE...: where the started machine NAME is kept, of which these files are all that there is to say.
started_file() {
  echo "$cache/target/vm/started-$1-$(cat "${@:2}" "$top"/tools/{vm,started}.sh | sha256sum | cut -c1-12)"
}

# started FILE COMMAND...: have a started machine in FILE, which COMMAND keeps if there is none yet; fails if it could not.
started() {
  local file=$1
  shift
  [[ -e $file ]] || locked "$(basename "${file%-*}")" new_started "$file" "$@" || {
    echo "no machine was kept to go on from; starts one"
    return 1
  }
}

# new_started FILE COMMAND...: the same while nobody else does, in the place of an older one.
new_started() {
  local file=$1
  shift
  [[ ! -e $file ]] || return 0
  mkdir -p "$(dirname "$file")"
  rm -f "${file%-*}"-????????????{,.*}
  "$@"
}

# say COMMAND: to the monitor of a machine, whose pipes are open as 7 and 8.
say() {
  echo "$1" >&7
}

# say_until COMMAND PATTERN SECONDS: the same, until a line of an answer is as PATTERN; fails after SECONDS.
say_until() {
  local line deadline=$((SECONDS + $3))
  while ((SECONDS < deadline)); do
    say "$1"
    while IFS= read -r -t 0.2 -u 8 line; do
      [[ ! $line =~ $2 ]] || return 0
    done
  done
  return 1
}

# keep_started FILE ARGUMENT...: start a machine with these arguments of QEMU and keep it in FILE.
keep_started() {
  local file=$1 work machine status=0
  shift
  work=$(mktemp -d)
  mkfifo "$work/monitor.in" "$work/monitor.out"
  {
    timeout --foreground --kill-after=5 600 qemu-system-x86_64 -display none -serial "file:$work/serial" \
      -chardev "pipe,id=monitor,path=$work/monitor" -mon chardev=monitor "$@" </dev/null 7>&- 8>&- &
    machine=$!
    if say_until 'info status' 'guest-panicked' 600 && say "migrate file:$file.part" &&
      say_until 'info migrate' 'status: completed' 60; then
      mv "$file.part" "$file"
    else
      status=1
      rm -f "$file.part"
      cat "$work/serial"
    fi
    say quit
    # What it was is in the file by now, or told above; how QEMU ends says no more.
    wait "$machine" || true
  } 7<>"$work/monitor.in" 8<>"$work/monitor.out"
  remove_tree "$work"
  return "$status"
}

# go_on MONITOR FILE SCRIPT: let a machine that was started with -incoming go on from FILE, with the file SCRIPT.
go_on() {
  {
    say "migrate_incoming file:$2"
    if say_until 'info status' 'guest-panicked' 60; then
      say "o/l 0xcf8 $script_register"
      say "o/b 0xcfc $(script_number "$3")"
      say_until cont 'cont' 10
    else
      say quit
    fi
  } 7<>"$1.in" 8<>"$1.out"
}

# script_number FILE: which of the scripts in its folder it is; a guest has the same folder.
script_number() {
  local number=0 file
  for file in "$(dirname "$1")"/*; do
    number=$((number + 1))
    [[ $file != "$1" ]] || echo "$number"
  done
}

# shellcheck shell=bash
# Virtual machines. Everything here runs inside the build image.
#
# A bare VM is a kernel and an initramfs of busybox; a system VM is Debian with systemd and the package.
# Either runs one guest script and ends; its serial output carries the line "::exit:N::". A system VM says
# "::begin::" when the script begins.

# Programs of the image that every bare VM has besides busybox, and those of one to type in. Each machine unpacks them
# anew, which in exact virtual time takes the emulator a tenth of a second for a megabyte.
bare_programs=(bpftool chrt hackbench nice setpriv taskset)
bare_programs_by_hand=(busctl cyclictest dbus-daemon strace stress-ng veristat)

# Settings of the next VM; test_settings fills them from the comments of a test.
# multi: a thread for each CPU. single: one for all, slower, but a CPU can never run an instruction that another
# has just patched, as the kernel does whenever a scheduler comes or goes; in multi that once ended in a panic.
vm_time=multi
# In virtual time, how long the CPUs take in turn, us; only the benchmark has others.
vm_turn_us=50
vm_append=
vm_acpi=
vm_qemu=()
# Set if the machine need not start for this script: it may go on from one that has started (tools/started.sh).
vm_shared_start=
# Set if the script says nothing with one thread for all CPUs: then the emulator's fault ends it.
vm_stays_multi=
# More programs of the image for the next bare VM.
vm_tools=()
# What every kernel is told. On a busy host an emulated timer may be late for the kernel's test of it, which ends in a
# panic at its very start; under KVM the kernel leaves that test out by itself. The kernel is at the same addresses each
# time, so that where a CPU was says something.
vm_words='console=ttyS0 quiet panic=-1 no_timer_check nokaslr'
# And where a CPU's seconds are the host's: no comparing of clocks, for which 7.2 lets a CPU spin without interrupts until
# another takes part. On a busy host that may last longer than the half second until the next time, and so for ever.
vm_words_by_the_wall='tsc=nowatchdog'
# More programs for the next bare VMs, by what they are called elsewhere: paths.
declare -A vm_programs=()

# accel KERNEL: kvm if a kernel really boots with it here, else tcg. Tried once, then remembered.
accel() {
  local verdict=$cache/accel work
  if [[ -n ${PANDEMONIUM_ACCEL-} ]]; then
    echo "$PANDEMONIUM_ACCEL"
  elif [[ ! -w /dev/kvm ]]; then
    echo tcg
  else
    if [[ ! -e $verdict ]]; then
      work=$(mktemp -d)
      echo 'exit 0' >"$work/probe.sh"
      if PANDEMONIUM_ACCEL=kvm bare_vm newest 1 "$work/probe.sh" 20 >/dev/null 2>&1; then
        echo kvm >"$verdict"
      else
        echo tcg >"$verdict"
      fi
      remove_tree "$work"
    fi
    cat "$verdict"
  fi
}

# machine CPUS MEMORY: QEMU arguments that every VM shares, one per line.
machine() {
  printf '%s\n' -M q35 -smp "$1" -m "$2" -no-reboot -nic none -vga none
  if [[ $vm_time == virtual ]]; then
    # One instruction is one nanosecond. The filter is only a timer on the virtual clock: without it
    # a virtual CPU may wait 2 ms for its turn and every wake-up across CPUs is noise.
    printf '%s\n' -cpu max,-rdrand,-rdseed -seed 1 -icount shift=0,sleep=off,align=off \
      -rtc clock=vm,base=2026-01-01 -netdev hubport,id=n0,hubid=0 -object "filter-buffer,id=fb,netdev=n0,interval=$vm_turn_us"
  elif [[ $(accel) == kvm ]]; then
    printf '%s\n' -accel kvm -cpu host
  else
    printf '%s\n' -accel "tcg,thread=$vm_time" -cpu max
  fi
}

# What boot returns after what only an emulator with a thread for each CPU does, now and then: a CPU met the breakpoint of an
# instruction that another was patching, after it was patched, when a scheduler came or went; or its timer never rang since
# the machine began, as RCU tells when it has waited for that timer for 20 s.
emulators_fault=79
emulators_faults='Oops: int3|timer handling issue on cpu=[0-9]+ timer-softirq=0$'
# Set when it ended a system VM whose script had not begun, and whose CPUs all were halted: under load that was seen half a
# minute after the start, while the kernel's own scheduler had work for one of them.
vm_is_stuck=

# where_cpus_are PIPE: what each CPU of the machine does, twice, from its monitor: whether they move, and where.
where_cpus_are() {
  {
    echo 'info registers -a'
    sleep 1
    echo 'info registers -a'
    sleep 1
  } >"$1.in"
  # What the monitor says stays in the pipe until somebody reads it; it never ends.
  timeout 5 cat "$1.out" | tr -d '\r' | grep -E '^CPU#|^RIP=' || true
}

# boot TIMEOUT SCRIPT STARTED QEMU-ARGUMENTS...: run a VM to its end, its serial line on stdout; returns the guest's status.
# It goes on with SCRIPT from the file STARTED, if that is not empty.
boot() {
  local timeout=$1 script=$2 started=$3 work status watch
  shift 3
  [[ -z $started ]] || set -- "$@" -incoming defer
  work=$(mktemp -d)
  mkfifo "$work/monitor.in" "$work/monitor.out" "$work/silence"
  (
    [[ -z $started ]] || go_on "$work/monitor" "$started" "$script"
    # To wait without a process of its own, which would outlive this one.
    read -r -t "$timeout" <>"$work/silence" || where_cpus_are "$work/monitor" >"$work/cpus"
  ) &
  watch=$!
  # The outcome is what the guest wrote, not how QEMU ended.
  # In the foreground, so that Ctrl-C ends the machine too. Carriage returns and escapes are of no use in a log.
  timeout --foreground --kill-after=5 "$((timeout + 10))" \
    qemu-system-x86_64 -display none -chardev "pipe,id=monitor,path=$work/monitor" -mon chardev=monitor \
    -serial stdio "$@" "${vm_qemu[@]}" </dev/null 2>&1 |
    sed -u 's/\r//g; s/\x1b\][^\x1b\x07]*\(\x07\|\x1b\\\)//g; s/\x1b\[[0-9;?!]*[a-zA-Z]//g; s/\x1b[^[]//g' |
    tee "$work/serial" || true
  kill "$watch" 2>/dev/null || true
  wait "$watch" 2>/dev/null || true
  status=$(sed -n 's/^.*::exit:\([0-9]\{1,3\}\)::.*$/\1/p' "$work/serial" | tail -n 1)
  if [[ -z $status ]]; then
    echo "the machine ended, or was ended after $timeout s, before the script did"
    [[ ! -e $work/cpus ]] || cat "$work/cpus"
  fi
  vm_is_stuck=
  if [[ -z $status && -s $work/cpus ]] && ! grep -q '::begin::' "$work/serial" && ! grep -q 'HLT=0' "$work/cpus"; then
    vm_is_stuck=1
  fi
  [[ $status == 0 ]] || ! grep -qE "$emulators_faults" "$work/serial" || status=$emulators_fault
  remove_tree "$work"
  return "${status:-1}"
}

# bare_vm KERNEL CPUS SCRIPT [TIMEOUT]: run SCRIPT in a bare VM; its folder is /tests in there.
bare_vm() {
  local kernel cpus=$2 script=$3 timeout=${4:-180} work status=0
  kernel=$(needed_kernel "$1") || exit
  work=$(mktemp -d)
  bare_initramfs "$work/initrd" "$(dirname "$script")"
  boot_bare || status=$?
  if [[ $vm_time == multi && -z $vm_stays_multi ]] && ((status == emulators_fault)); then
    echo "the emulator's fault; once more with one thread for all CPUs"
    vm_time=single timeout=$((2 * timeout)) status=0
    boot_bare || status=$?
  fi
  remove_tree "$work"
  return "$status"
}

# boot_bare: with the variables of bare_vm.
boot_bare() {
  local arguments word started=''
  mapfile -t arguments <<<"$(machine "$cpus" 2G)"
  arguments+=(-kernel "$kernel" -initrd "$work/initrd")
  word=$(basename "$script")
  if can_go_on; then
    arguments+=("${started_arguments[@]}")
    started=$(started_file "bare-$(basename "$kernel")-$cpus-$vm_time" "$kernel" "$work/initrd")
    if started "$started" keep_started "$started" "${arguments[@]}" -append "$(bare_append) guest.script=$script_later"; then
      word=$script_later
    else
      started=
    fi
  fi
  boot "$timeout" "$script" "$started" "${arguments[@]}" -append "$(bare_append) guest.script=$word"
}

bare_append() {
  printf '%s' "$vm_words $vm_append"
  if [[ $vm_time == virtual ]]; then
    printf '%s' ' norandmaps random.trust_cpu=off mitigations=off'
  else
    printf '%s' " $vm_words_by_the_wall"
  fi
}

# bare_initramfs FILE TESTS: what a bare VM starts from: the base, this tree's programs, the folder TESTS.
bare_initramfs() {
  local base root
  base=$cache/images/$(basename "$(image_dir build)")-$(cat "$top"/tools/{vm.sh,guest/await-script.c} | sha256sum | cut -c1-12).cpio
  [[ -e $base ]] || locked initramfs bare_base "$base"
  root=$(dirname "$1")/root
  mkdir -p "$root/usr/bin" "$root/tests"
  install_programs "$root"
  install_tools "$root" "${vm_tools[@]}"
  install_more_programs "$root"
  cp -r "$2/." "$root/tests/"
  if [[ -d $top/data ]]; then
    cp -r "$top/data" "$root/data"
  fi
  install -m755 "$top/tools/guest/bare-init" "$root/init"
  {
    cat "$base"
    pack "$root"
  } >"$1"
  remove_tree "$root"
}

# install_programs ROOT: this tree's programs, where they are built, and their libraries.
install_programs() {
  local program
  for program in pandemonium pandemoniumd pandemonium-workload; do
    if program=$(built_program "$program"); then
      install_program "$program" "$1"
    fi
  done
}

# install_tools ROOT NAME...: these programs of the image, instead of busybox's where it has them too.
install_tools() {
  local root=$1 name
  for name in "${@:2}"; do
    rm -f "$root/usr/bin/$name"
    install_program "$(command -v "$name")" "$root"
  done
}

# install_more_programs ROOT: those of vm_programs; schedulers among them read the kernel's configuration.
install_more_programs() {
  local program
  ((${#vm_programs[@]})) || return 0
  for program in "${vm_programs[@]}"; do
    install_program "$program" "$1"
  done
  mkdir -p "$1/boot"
  cp "$(image_dir guest)"/boot/config-* "$1/boot/"
}

install_program() {
  local library
  install -D -m755 "$1" "$2/usr/bin/$(basename "$1")"
  while read -r library; do
    library=${library#/usr}
    [[ -e $2/usr$library ]] || install -D -m755 "$library" "$2/usr$library"
  done < <(ldd "$1" 2>/dev/null | grep -o '/[^ ]*')
}

# await_script FILE: make the program that waits for a script in a machine that is kept.
await_script() {
  clang -O2 -static -o "$1" "$top/tools/guest/await-script.c"
}

bare_base() {
  local root name
  [[ ! -e $1 ]] || return 0
  root=$(mktemp -d)
  mkdir -p "$root"/{proc,sys,dev,run,tmp,root,etc,var/lib,usr/bin,usr/lib,usr/lib64}
  for name in bin sbin; do ln -s usr/bin "$root/$name"; done
  for name in lib lib64; do ln -s "usr/$name" "$root/$name"; done
  ln -s bin "$root/usr/sbin"
  ln -s ../run "$root/var/run"
  for name in $(busybox --list); do
    ln -sf busybox "$root/usr/bin/$name"
  done
  rm -f "$root/usr/bin/busybox"
  cp /bin/busybox "$root/usr/bin/"
  install_tools "$root" "${bare_programs[@]}"
  await_script "$root/usr/bin/await-script"
  mkdir -p "$root/usr/share"
  cp -r /usr/share/dbus-1 "$root/usr/share/"
  printf '%s\n' root:x:0:0::/root:/bin/sh messagebus:x:100:100::/:/bin/false pandemonium:x:101:101::/:/bin/false \
    tester:x:1000:1000::/tmp:/bin/sh nobody:x:65534:65534::/:/bin/false >"$root/etc/passwd"
  printf '%s\n' root:x:0: messagebus:x:100: pandemonium:x:101: tester:x:1000: nogroup:x:65534: >"$root/etc/group"
  echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
  pack "$root" >"$1.part"
  rm -f "${1%-*}"-*.cpio
  mv "$1.part" "$1"
  remove_tree "$root"
}

# pack ROOT: the archive of a tree; equal trees give equal bytes, whenever they were made. Even the digits of a
# time stamp take instructions to read, and in virtual time an instruction is a nanosecond.
pack() {
  find "$1" -exec touch --no-dereference --date=@0 {} +
  (cd "$1" && find . | LC_ALL=C sort | cpio --quiet -o -H newc --owner=0:0 --reproducible)
}

# system_disk: make the disk of the system VM, with the package installed but not enabled; prints its path.
system_disk() {
  local disk key
  key=$(cat "$(package_file)" "$top"/tools/guest/* "$top/tools/vm.sh" | sha256sum | cut -c1-12)
  disk=$cache/target/vm/system-$key.ext4
  [[ -e $disk ]] || locked disk logged system_disk_make "$disk"
  echo "$disk"
}

system_disk_make() {
  local root
  [[ ! -e $1 ]] || return 0
  mkdir -p "$(dirname "$1")"
  root=$1.root
  rm -rf "$(dirname "$1")"/system-*
  cp -a "$(image_dir guest)" "$root"
  cp "$(package_file)" "$root/tmp/pandemonium.deb"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root" "$root/usr/sbin/policy-rc.d"
  chroot "$root" dpkg --force-unsafe-io -i /tmp/pandemonium.deb
  rm "$root/tmp/pandemonium.deb" "$root/usr/sbin/policy-rc.d"
  chroot "$root" useradd --create-home --shell /bin/bash tester
  chroot "$root" passwd --quiet --delete tester
  chroot "$root" passwd --quiet --delete root
  echo pandemonium-vm >"$root/etc/hostname"
  echo '127.0.0.1 localhost pandemonium-vm' >"$root/etc/hosts"
  : >"$root/etc/resolv.conf"
  install -D -m755 "$top/tools/guest/system-run" "$root/usr/lib/guest/run"
  await_script "$root/usr/lib/guest/await-script"
  install -D -m644 -t "$root/etc/systemd/system" "$top"/tools/guest/guest.{service,target}
  install -D -m644 "$top/tools/guest/autologin.conf" "$root/etc/systemd/system/serial-getty@ttyS0.service.d/autologin.conf"
  # The device on which a machine is stopped while it is kept is no driver's.
  echo blacklist pvpanic-pci >"$root/etc/modprobe.d/guest.conf"
  # As after a first start, whose work every machine would do again. Systemd compares the times with that of /usr.
  touch "$root"/{etc,var}/.updated
  mke2fs -q -t ext4 -d "$root" "$1.part" 3G
  mv "$1.part" "$1"
  remove_tree "$root"
}

# system_initramfs: make what the system VM starts from, the modules of its root and busybox; prints its path.
system_initramfs() {
  local file
  file=$cache/images/$(basename "$(image_dir guest)")-$(cat "$top"/tools/{vm.sh,guest/system-init} | sha256sum | cut -c1-12).cpio
  [[ -e $file ]] || locked initramfs system_initramfs_make "$file"
  echo "$file"
}

system_initramfs_make() {
  local root guest version module name number=10
  [[ ! -e $1 ]] || return 0
  root=$(mktemp -d)
  guest=$(image_dir guest)
  version=$(basename "$guest"/lib/modules/*)
  mkdir -p "$root"/{bin,dev,modules,root}
  cp /bin/busybox "$root/bin/"
  for name in sh mount insmod usleep switch_root; do ln -s busybox "$root/bin/$name"; done
  # In the order in which they need each other.
  while read -r _ module; do
    name=$number-$(basename "${module%.xz}")
    number=$((number + 1))
    xz -dc "$module" >"$root/modules/$name"
  done < <(modprobe --dirname "$guest" --set-version "$version" --show-depends --all virtio_blk ext4 | grep ^insmod)
  install -m755 "$top/tools/guest/system-init" "$root/init"
  pack "$root" >"$1.part"
  rm -f "${1%-*}"-*.cpio
  mv "$1.part" "$1"
  remove_tree "$root"
}

# payload ROOT TESTS: the folder TESTS, the package, the workload, the scheduler of somebody else, and a caller of every
# member of the bus interface, for a system VM.
payload() {
  local root=$1 workload
  mkdir -p "$root/tests" "$root/bin"
  cp -r "$2/." "$root/tests/"
  cp "$(package_file)" "$root/pandemonium.deb"
  if workload=$(built_program pandemonium-workload); then
    cp "$workload" "$root/bin/"
  fi
  cp "$top/daemon/tests/service/caller.py" "$root/bin/"
  clang -O2 -g -target bpf -c -o "$root/bin/foreign.bpf.o" "$top/tests/system/lib/foreign.bpf.c"
}

# payload_disk FILE ROOT: a small disk with what payload made.
payload_disk() {
  mke2fs -q -t ext4 -L payload -d "$2" "$1" 128M
}

# system_arguments WORK CPUS TESTS: QEMU arguments of a system VM that is nobody else's, one per line.
system_arguments() {
  local disk
  disk=$(system_disk)
  payload "$1/payload" "$3"
  payload_disk "$1/payload.ext4" "$1/payload"
  system_machine "$1" "$2" "$disk,snapshot=on" "$1/payload.ext4,snapshot=on"
}

# system_machine WORK CPUS DISK PAYLOAD: QEMU arguments of a system VM with these disks, one per line.
system_machine() {
  machine "$2" 2G
  printf '%s\n' -drive "if=virtio,format=raw,file=$3" -drive "if=virtio,format=raw,file=$4" \
    -kernel "$(kernel_file newest)" -initrd "$(system_initramfs)"
  [[ -z $vm_acpi ]] || acpi_arguments "$1" "$top/tests/system/lib/$vm_acpi.asl"
}

# acpi_arguments WORK SOURCE: QEMU arguments for one more table of the firmware, which the second serial port
# remembers something for.
acpi_arguments() {
  iasl -p "$1/table" "$2" >"$1/table.log" || {
    cat "$1/table.log" >&2
    return 1
  }
  printf '%s\n' -acpitable "file=$1/table.aml" -serial null
}

# system_append [SCRIPT [WORD...]]: kernel parameters; with SCRIPT the VM runs it and ends.
system_append() {
  printf '%s' "root=/dev/vda rw $vm_words $vm_words_by_the_wall $vm_append"
  (($# == 0)) || printf '%s' " systemd.unit=guest.target systemd.mask=serial-getty@ttyS0.service guest.script=$*"
}

# system_vm CPUS SCRIPT [TIMEOUT [WORD...]]: run SCRIPT as root in the system VM; its folder is /run/payload/tests.
system_vm() {
  [[ -e $(package_file) ]] || die "the package was not built"
  local cpus=$1 script=$2 timeout=${3:-400} work status started='' arguments append
  work=$(mktemp -d)
  status=0
  if can_go_on; then
    started=$(system_started)
  fi
  if [[ -n $started ]]; then
    append=$(system_append "$script_later")
    mapfile -t arguments <<<"$(system_machine "$work" "$cpus" "$started.disk,snapshot=on" "$started.payload,snapshot=on")"
    arguments+=("${started_arguments[@]}")
  else
    append=$(system_append "$(basename "$script")" "${@:4}")
    mapfile -t arguments <<<"$(system_arguments "$work" "$cpus" "$(dirname "$script")")"
  fi
  boot "$timeout" "$script" "$started" "${arguments[@]}" -append "$append" || status=$?
  if [[ -n $vm_is_stuck ]]; then
    echo "the emulator's fault; once more"
    status=0
    boot "$timeout" "$script" "$started" "${arguments[@]}" -append "$append" || status=$?
  fi
  remove_tree "$work"
  return "$status"
}

# system_started: the file of a system VM that has started, with the variables of system_vm; nothing if none could be kept.
system_started() {
  local file disk
  disk=$(system_disk)
  payload "$work/payload" "$(dirname "$script")"
  file=$(started_file "system-$cpus-$vm_time${vm_acpi:+-$vm_acpi}" "$(kernel_file newest)" \
    <(pack "$work/payload"; echo "$disk" "$(system_initramfs)"; cat "$top"/tests/system/lib/*.asl))
  if started "$file" keep_system "$file" "$disk" >&2; then
    echo "$file"
  fi
}

# keep_system FILE DISK: with the variables of system_vm. The disk is as the machine left it, so it is kept too.
keep_system() {
  local arguments
  cp --sparse=always "$2" "$1.disk"
  payload_disk "$1.payload" "$work/payload"
  mapfile -t arguments <<<"$(system_machine "$work" "$cpus" "$1.disk" "$1.payload")"
  keep_started "$1" "${arguments[@]}" "${started_arguments[@]}" -append "$(system_append "$script_later")"
}

# command_vm bare|system [--kernel K] [--cpus N]: a VM with a shell on this terminal.
command_vm() {
  local kind=${1-} kernel=newest cpus=2 work arguments file
  shift || true
  while (($#)); do
    case $1 in
      --kernel) kernel=${2:?--kernel needs newest, oldest or a file} ;;
      --cpus) cpus=${2:?--cpus needs a number} ;;
      *) die "vm knows no option '$1'" ;;
    esac
    shift 2
  done
  work=$(mktemp -d)
  case $kind in
    bare)
      file=$(needed_kernel "$kernel") || exit
      timed "builds the programs" logged build_programs
      vm_tools=("${bare_programs_by_hand[@]}")
      bare_initramfs "$work/initrd" "$top/tests/bare"
      mapfile -t arguments <<<"$(machine "$cpus" 2G)"
      arguments+=(-kernel "$file" -initrd "$work/initrd" -append "$(bare_append)")
      ;;
    system)
      timed "builds the package" logged package
      mapfile -t arguments <<<"$(system_arguments "$work" "$cpus" "$top/tests/system")"
      arguments+=(-append "$(system_append)")
      ;;
    *) die "vm takes bare or system" ;;
  esac
  note "Ctrl-A X ends the machine"
  # However the person ended the machine is fine.
  qemu-system-x86_64 -nographic "${arguments[@]}" || true
  remove_tree "$work"
}

# shellcheck shell=bash
# The tests that run in virtual machines: tests/bare and tests/system. `./dev --help` says how to write one.

# setting FILE NAME DEFAULT: the comment "# NAME: ..." of a test.
setting() {
  local value
  value=$(sed -n "s/^# $2: *//p" "$1" | head -n 1)
  echo "${value:-$3}"
}

test_settings() {
  vm_time=$(setting "$1" time multi)
  vm_append=$(setting "$1" append '')
  vm_acpi=$(setting "$1" acpi '')
  vm_shared_start=1
  [[ $(setting "$1" start shared) != own ]] || vm_shared_start=
  read -ra vm_qemu <<<"$(setting "$1" qemu '')"
  read -ra vm_tools <<<"$(setting "$1" programs '')"
}

# chosen FILE NAME...: whether the person asked for this test.
chosen() {
  local file=$1 name
  shift
  (($#)) || return 0
  for name; do
    [[ $file == */"$name".sh || $file == "tests/$name.sh" || $file == "$name" ]] && return 0
  done
  return 1
}

# vm_tests [NAME...]: every test, for which the programs are built, or the named ones.
vm_tests() {
  local bare=() system=() window=() file
  for file in tests/bare/*.sh; do
    if [[ -e $file ]] && chosen "$file" "$@"; then bare+=("$file"); fi
  done
  for file in tests/system/*.sh; do
    if [[ -e $file ]] && chosen "$file" "$@"; then system+=("$file"); fi
  done
  ((${#bare[@]} + ${#system[@]})) || die "no test is called $*"

  # The package of the window takes some minutes more.
  (($#)) || window=(applet)
  for file in "${system[@]}"; do
    [[ $(setting "$file" package '') != applet ]] || window=(applet)
  done
  ((! $#)) || step "build programs" build_programs "${window[@]}"
  (($# && ${#system[@]} == 0)) || step "build packages" package "${window[@]}"
  (($#)) || step "what the packages install" package_tests
  # First those that take both cores, so that the others fill them without a gap.
  for file in "${bare[@]}"; do
    [[ $(setting "$file" time multi) != multi ]] || bare_test step "$file"
  done
  for file in "${bare[@]}"; do
    [[ $(setting "$file" time multi) == multi ]] || bare_test background_step "$file"
  done
  for file in "${system[@]}"; do
    system_test "$file"
  done
  collect_steps
  if ((${#bare[@]})) && ! kernel_file oldest >/dev/null; then
    echo "the oldest supported kernel (6.12) was not tried: set PANDEMONIUM_OLDEST_KERNEL or run ./dev kernel"
  fi
}

# bare_test RUN FILE: the test on every kernel and number of CPUs that it asks for, as RUN, a kind of step.
bare_test() {
  local run=$1 name kernel cpus vm_time vm_append vm_acpi vm_qemu vm_tools vm_shared_start
  shift
  name=$(basename "$1" .sh)
  test_settings "$1"
  for kernel in $(setting "$1" kernels 'newest oldest'); do
    if [[ $kernel == oldest ]] && ! kernel_file oldest >/dev/null; then continue; fi
    for cpus in $(setting "$1" cpus 2); do
      "$run" "bare/$name on the $kernel kernel, $cpus CPUs" \
        bare_vm "$kernel" "$cpus" "$1" "$(setting "$1" timeout 600)"
    done
  done
}

system_test() {
  local vm_time vm_append vm_acpi vm_qemu vm_tools vm_shared_start
  test_settings "$1"
  # These load and unload the scheduler under load many times.
  vm_time=$(setting "$1" time single)
  background_step "system/$(basename "$1" .sh)" system_vm "$(setting "$1" cpus 2)" "$1" "$(setting "$1" timeout 600)"
}

# shellcheck shell=bash
# Kernels to boot: the newest is the guest's, the oldest is built here or handed over.

# kernel_file newest|oldest|FILE: the kernel image; fails if there is none.
kernel_file() {
  local guest files
  case $1 in
    newest)
      guest=$(image_dir guest)
      files=("$guest"/boot/vmlinuz-*)
      [[ -e ${files[0]} ]] || return 1
      echo "${files[0]}"
      ;;
    oldest)
      if [[ -n ${PANDEMONIUM_OLDEST_KERNEL-} ]]; then
        echo "$PANDEMONIUM_OLDEST_KERNEL"
      elif [[ -e $cache/kernels/$(oldest_name) ]]; then
        echo "$cache/kernels/$(oldest_name)"
      else
        return 1
      fi
      ;;
    *)
      [[ -e $1 ]] || return 1
      echo "$1"
      ;;
  esac
}

# needed_kernel newest|oldest|FILE: the same, and ends with a sentence that says what to do if there is none.
needed_kernel() {
  kernel_file "$1" && return
  [[ $1 != oldest ]] || die "there is no kernel 6.12 here: ./dev kernel builds one, PANDEMONIUM_OLDEST_KERNEL names one"
  die "there is no $1 kernel"
}

oldest_name() {
  echo "bzImage-6.12-$(sha256sum "$top/tools/kernel-6.12.fragment" | cut -c1-12)"
}

# adopt_oldest_kernel: copy the kernel that was handed over to where the image can see it.
adopt_oldest_kernel() {
  local given=${PANDEMONIUM_OLDEST_KERNEL-}
  [[ -n $given ]] || return 0
  [[ -e $given ]] || die "PANDEMONIUM_OLDEST_KERNEL names no file: $given"
  mkdir -p "$cache/kernels"
  cmp -s "$given" "$cache/kernels/given" || cp "$given" "$cache/kernels/given"
  export PANDEMONIUM_OLDEST_KERNEL=/cache/kernels/given
}

command_kernel() {
  local file
  file=$cache/kernels/$(oldest_name)
  mkdir -p "$cache/kernels"
  [[ -e $file ]] || locked kernel kernel_make "$file"
  note "the oldest supported kernel is ready"
}

kernel_make() {
  local file=$1 work=$cache/kernels/build
  [[ ! -e $file ]] || return 0
  remove_tree "$work"
  mkdir -p "$work"
  timed "fetches Debian's linux-source-6.12" kernel_source "$work"
  timed "builds the 6.12 kernel (about 20 minutes on two cores)" logged kernel_build "$work"
  cp "$work/arch/x86/boot/bzImage" "$file.part"
  mv "$file.part" "$file"
  remove_tree "$work"
}

kernel_source() {
  (
    cd "$1"
    apt-get update -qq
    apt-get download -qq -o APT::Sandbox::User=root linux-source-6.12
    dpkg-deb --fsys-tarfile linux-source-6.12_*.deb |
      tar -x --to-stdout ./usr/src/linux-source-6.12.tar.xz |
      tar -xJ --strip-components=1
  )
}

kernel_build() {
  cd "$1"
  make tinyconfig
  scripts/kconfig/merge_config.sh -m .config "$top/tools/kernel-6.12.fragment"
  make olddefconfig
  grep -q '^CONFIG_SCHED_CLASS_EXT=y' .config || die "the 6.12 configuration lost sched_ext"
  make -j"$(nproc)" bzImage
}

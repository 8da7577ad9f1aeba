# shellcheck shell=bash
# Format, lints and tests. Everything here runs inside the build image.

c_files() {
  find bpf bench -name '*.[ch]' -not -name 'vmlinux*' 2>/dev/null | sort
}

format_c() {
  local files
  mapfile -t files < <(c_files)
  ((${#files[@]} == 0)) || clang-format "$@" "${files[@]}"
}

# The library is checked as part of `dev`, which sources it.
lint_scripts() {
  local files
  mapfile -t files < <(find tools .ci -type f -perm -u+x | sort)
  shellcheck --external-sources --check-sourced dev "${files[@]}"
  # These leave words unquoted on purpose: lists of process ids.
  mapfile -t files < <(find tests/bare tests/system -name '*.sh' -not -path '*/lib/*' | sort)
  shellcheck --external-sources --source-path=SCRIPTDIR --severity=warning "${files[@]}"
}

lints() {
  step "rust format" cargo fmt --all --check
  step "c format" format_c --dry-run -Werror
  step "shell lint" lint_scripts
  step "rust lint" cargo clippy --workspace --all-targets -- -D warnings
  step "table of coverage" tools/coverage.sh
}

command_check() {
  cd "$top"
  lints
  step "unit tests" cargo test --workspace --lib --bins
  summary
}

command_fmt() {
  cd "$top"
  cargo fmt --all
  format_c -i
}

command_test() {
  cd "$top"
  if (($# == 0)); then
    background_step "build programs" build_programs_beside applet
    lints
    step "cargo tests" cargo test --workspace
    step "applet on a desktop" applet_tests
    collect_steps
  fi
  vm_tests "$@"
  (($#)) || step "bench: the same twice, and the baseline" bench_gate
  summary
}

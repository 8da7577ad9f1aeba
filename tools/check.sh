# shellcheck shell=bash
# Format, lints and tests. Everything here runs inside the build image.

c_files() {
  find bpf bench tools -name '*.[ch]' -not -name 'vmlinux*' 2>/dev/null | sort
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

# linted COMMAND...: cargo with clippy for a compiler: it looks at what is compiled for the tests anyway, and what all
# depends on is not compiled once more for the lints.
linted() {
  RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings "$@"
}

lints() {
  # shellcheck source=tests/dev/bench.sh
  source "$top/tests/dev/bench.sh"
  step "rust format" cargo fmt --all --check
  step "c format" format_c --dry-run -Werror
  step "shell lint" lint_scripts
  step "rust lint" linted cargo test --workspace --all-targets --no-run
  step "table of coverage" tools/coverage.sh
  step "refusals of the benchmark" bench_refuses_what_it_cannot_measure
  step "a peer that cannot be built" bench_leaves_out_a_peer_that_cannot_be_built
}

command_check() {
  cd "$top"
  lints
  step "unit tests" linted cargo test --workspace --lib --bins
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
    step "cargo tests" linted cargo test --workspace
    step "applet on a desktop" applet_tests
    collect_steps
  fi
  vm_tests "$@"
  (($#)) || step "bench: the same twice, and the baseline" bench_gate
  summary
}

# shellcheck shell=bash
# What `dev bench` cannot measure it refuses in one line that says why, before anything is built; without a peer that cannot
# be built it goes on. `dev check` runs this.

# refuses SENTENCE OPTION...: fails unless the options are refused with a line that has SENTENCE in it.
refuses() {
  local sentence=$1 said
  shift
  if said=$(bench_options "$@" 2>&1); then die "bench takes $*"; fi
  [[ $said == *"$sentence"* && $said != *$'\n'* ]] || die "bench refuses $* with: $said"
}

bench_refuses_what_it_cannot_measure() {
  PANDEMONIUM_OLDEST_KERNEL='' cache=/nonexistent refuses "./dev kernel builds one" --kernel oldest
  refuses "there is no file" --kernel /nonexistent
  refuses "knows no rows 'nothing'" --rows wakeup,nothing
  refuses "knows no rows ''" --rows wakeup,
  refuses "knows no rows 'floor wakeup'" --rows "floor wakeup"
  refuses "'pipe' twice" --rows pipe,wakeup,pipe
  refuses "needs --parallel" --rows wakeup,build
  refuses "knows no schedulers 'fifo'" --schedulers eevdf,fifo
  refuses "'eevdf' twice" --parallel --schedulers eevdf,eevdf
  refuses "numbers of CPUs" --cpus 2,,4
  refuses "a number from 1" --rounds 0
  refuses "a number from 1 to 1000" --turn 1001
  refuses "needs a value" --seconds
  refuses "knows no option" --fast
  refuses "says nothing together with" --gate --rows wakeup
  refuses "says nothing together with" --parallel --turn 10
}

bench_leaves_out_a_peer_that_cannot_be_built() {
  local said cache
  cache=$(mktemp -d)
  # shellcheck disable=SC2317 # bench_install calls it
  cargo() { return 101; }
  if said=$(bench_prepare lavd 2>&1); then die "bench goes on with a peer that could not be built"; fi
  remove_tree "$cache"
  [[ $said == *"lavd is left out"* ]] || die "bench says of a peer that cannot be built: $said"
}

# shellcheck shell=bash
# What `dev bench` cannot measure it refuses in one line that says why, before anything is built. `dev check` runs this.

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
  refuses "knows no schedulers 'fifo'" --schedulers eevdf,fifo
  refuses "numbers of CPUs" --cpus 2,,4
  refuses "a number from 1" --rounds 0
  refuses "needs a value" --seconds
  refuses "knows no option" --fast
  refuses "says nothing together with" --gate --rows wakeup
}

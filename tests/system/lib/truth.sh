# shellcheck shell=bash
# Shared by the tests of what is told: whether it is true, and how often it is announced. Needs service.sh.

heard=/tmp/heard
marks=0

# fresh: forgets what was heard until now.
fresh() { : >$heard; }
# told "KERNEL STATE"...: these announcements of a state, "starting" left out, in this order and no others; the first
# word is what the kernel itself said when the announcement was heard.
told() {
  # The announcement of this comes after all that came before.
  marks=$((marks + 1))
  busctl --system emit $object $name.Test After$marks
  until_true 100 grep -q "\"member\":\"After$marks\"" $heard
  diff <(announced $heard State | sed '/ starting$/d') <((($# == 0)) || printf '%s\n' "$@")
}
# agrees STATE KERNEL OPS: the properties and the kernel.
agrees() {
  local ops
  # There is no such file while no scheduler is loaded.
  ops=$(cat $sched_ext/root/ops 2>/dev/null || true)
  [[ $(sched State) == "$1" && $(sched KernelState) == "$2" && $(sched KernelOps) == "$3" ]] &&
    kernel_is "$2" && [[ $ops == "$3" ]]
}
until_agrees() {
  until_true 300 agrees "$@" || {
    echo "wanted $*; told $(sched State) $(sched KernelState) $(sched KernelOps); the kernel: $(cat $sched_ext/state)"
    return 1
  }
}

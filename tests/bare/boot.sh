#!/bin/sh
# The kernel can take a scheduler, and none is there yet.
# time: single
# start: own
set -eu
[ "$(cat /sys/kernel/sched_ext/state)" = disabled ]
[ -r /sys/kernel/btf/vmlinux ]
grep -q '^nodev	bpf$' /proc/filesystems
echo "$(uname -r), $(nproc) CPUs"

#!/bin/sh
# The system is up, and installing the package has neither enabled nor started the service.
# start: own
set -eu
[ "$(cat /sys/kernel/sched_ext/state)" = disabled ]
busctl --system list >/dev/null
dpkg -s pandemonium | grep -q '^Status: install ok installed'
if systemctl is-enabled --quiet pandemonium; then exit 1; fi
if systemctl is-active --quiet pandemonium; then exit 1; fi
systemctl --failed --no-legend | tee /dev/stderr | grep -q . && exit 1
echo "$(uname -r), $(nproc) CPUs"

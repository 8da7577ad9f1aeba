#!/bin/sh
# In exact virtual time: when the daemon dies, the kernel's scheduler is back within a second.
# time: virtual
set -eu
. ./lib/daemon.sh
start_daemon
pandemonium-workload hog --threads 4 --seconds 6 >/dev/null &
sleep 1
kill -9 "$daemon"
wait_for 10 is_disabled || fail "still loaded a second after SIGKILL"
echo "and it comes back"
start_daemon
still_ours "the second start"
stop_daemon

#!/bin/bash
# The window of the package beside the installed service, for an ordinary user at the first terminal: what polkit grants
# whoever sits there is done, everything else is refused in a sentence. There is no desktop in this machine: it borrows
# that of the image that it runs in, with the package installed on top.
# timeout: 1800
# package: applet
# qemu: -virtfs local,path=/,mount_tag=image,security_model=none,multidevs=remap,readonly=on
set -Eeu
. ./lib/service.sh
. ./lib/sessions.sh
trap 'echo "failed at line $LINENO: $BASH_COMMAND"' ERR
trap 'journalctl -u pandemonium -u polkit -u getty@tty1 --no-pager | tail -n 40' EXIT
root=/mnt/root

echo "a desktop to borrow"
modprobe -a 9pnet_virtio 9p overlay
mkdir -p /mnt/image /mnt/top $root
mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,cache=loose,ro image /mnt/image
mount -t tmpfs top /mnt/top
mkdir /mnt/top/upper /mnt/top/work
mount -t overlay -o lowerdir=/mnt/image,upperdir=/mnt/top/upper,workdir=/mnt/top/work overlay $root
for place in proc sys dev run tmp; do
  mount --rbind /$place $root/$place
done
# The service that it needs is that of the machine. Nobody looks for a manual page here.
rm -f $root/var/lib/man-db/auto-update
chroot $root dpkg --force-depends --force-unsafe-io -i /cache/target/package/pandemonium-applet.deb
chroot $root useradd --uid "$(id -u tester)" --no-create-home --home-dir /tmp tester

echo "a user at the first terminal"
log_in desk
[[ $(session desk Seat) == seat0 && $(session desk Active) == yes && $(session desk Name) == tester ]]
# An authority that first has to start may come too late for whoever asks, in a slow machine; on a desktop it has started.
systemctl start pandemonium polkit
until_true 300 state_is running
obeyed desk "PANDEMONIUM_PATIENCE=200 unshare --user --map-current-user --root=$root --wd=/src \
  python3 -B tests/applet/installed.py" &
user=$!

echo "the user switches it off, and root something else"
# The kernel is asked, not the bus: a program for each question would take half of the machine from the window.
mode_is() { [[ $(sched Mode) == "$1" ]]; }
off_or_over() { kernel_is disabled || ! kill -0 $user 2>/dev/null; }
until_true 6000 off_or_over
kernel_is disabled
until_true 300 mode_is off
pandemonium mode bpf
wait $user

until_true 300 kernel_is enabled
mode_is bpf
[[ $(sched IdleSelector) == true ]]
systemctl stop pandemonium
trap - EXIT

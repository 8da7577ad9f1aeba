#!/bin/bash
# Upgrading restarts a running service, removing stops it, purging leaves nothing.
set -eu
trap 'echo "failed at line $LINENO"' EXIT
deb=/run/payload/pandemonium.deb
systemctl enable --now pandemonium
before=$(systemctl show -p MainPID --value pandemonium)
dpkg -i "$deb"
systemctl is-active --quiet pandemonium
[ "$(systemctl show -p MainPID --value pandemonium)" != "$before" ]
dpkg -r pandemonium
[ ! -e /usr/libexec/pandemoniumd ]
[ -z "$(pidof pandemoniumd)" ]
dpkg -i "$deb"
if systemctl is-active --quiet pandemonium; then exit 1; fi
if systemctl is-enabled --quiet pandemonium; then exit 1; fi
mkdir -p /var/lib/pandemonium/x
systemctl start pandemonium
dpkg -P pandemonium
[ -z "$(pidof pandemoniumd)" ]
[ -z "$(find /etc /usr /var/lib /run -xdev -name '*pandemonium*' -not -path '/run/payload*' -not -path '*/dpkg/*' | tee /dev/stderr)" ]
systemctl --failed --no-legend
trap - EXIT

# shellcheck shell=bash
# Shared by the tests with users who have logged in. Needs service.sh.

# log_in PLACE...: user tester, at the first terminal (desk) or from elsewhere (remote).
log_in() {
  local place
  mkdir -p /run/obey /run/systemd/system/getty@tty1.service.d
  chmod 777 /run/obey
  for place; do
    mkfifo -m 666 /run/obey/$place.orders /run/obey/$place.answer
  done
  cat >~tester/.bash_profile <<'PROFILE'
if [[ $(tty) == /dev/tty1 ]]; then place=desk; else place=remote; fi
exec bash /run/payload/tests/lib/obey.sh $place
PROFILE
  cat >/run/systemd/system/getty@tty1.service.d/autologin.conf <<'CONF'
[Service]
ExecStart=
ExecStart=-/sbin/agetty --autologin tester --noclear %I linux
CONF
  systemctl daemon-reload
  for place; do
    case $place in
      desk) systemctl restart getty@tty1 ;;
      remote) systemd-run --quiet --unit=remote python3 "$PWD/lib/elsewhere.py" tester ;;
    esac
  done
  for place; do
    until_true 300 test -e /run/obey/$place.ready
  done
  cat /run/obey/*.ready
}
# obeyed PLACE COMMAND...: a session does it; what it says is printed, its status returned.
obeyed() {
  local place=/run/obey/$1 answer
  shift
  printf '%s\n' "$*" >"$place.orders"
  answer=$(cat "$place.answer")
  sed '$d' <<<"$answer"
  return "$(sed -n '$s/^status //p' <<<"$answer")"
}
id_of() { sed 's/session \([^,]*\),.*/\1/' "/run/obey/$1.ready"; }
# session PLACE PROPERTY
session() { loginctl show-session -P "$2" "$(id_of "$1")"; }

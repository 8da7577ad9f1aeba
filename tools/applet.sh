# shellcheck shell=bash
# The applet's demo, and its tests on a desktop without a screen. Everything here runs inside the build image.

# The window, and the daemon that its demo starts.
applet_programs() {
  cd "$top"
  cargo build --workspace --bins
}

# The window beside the real daemon, and the files that a desktop reads about it.
applet_tests() {
  local id=data/applet/org.pandemonium.Applet
  cp "$id.desktop.in" /tmp/org.pandemonium.Applet.desktop
  desktop-file-validate /tmp/org.pandemonium.Applet.desktop
  # Somewhere else is as good as where the pictures will be. There is no page to link to yet.
  sed 's|@PICTURES@|https://example.org|' "$id.metainfo.xml.in" >/tmp/org.pandemonium.Applet.metainfo.xml
  appstreamcli validate --no-net --explain --override=url-homepage-missing=info /tmp/org.pandemonium.Applet.metainfo.xml
  python3 -B "$top/tests/applet/translations.py"
  # As the tests that cargo runs need them, which were built before: their libraries have more features.
  (cd "$top" && linted cargo build --workspace --bins --tests)
  python3 -B "$top/tests/applet/run.py"
  python3 -B "$top/tests/applet/tray.py"
}

# What the packages install, for those who have nothing else, and in the panel of a desktop.
package_tests() {
  python3 -B "$top/tests/applet/package.py" "$(package_file)" "$(package_file pandemonium-applet)"
  python3 -B "$top/tests/applet/xfce.py" "$(package_file pandemonium-applet)"
}

# command_applet [--screenshot FILE | --screenshots DIRECTORY] [ARGUMENTS...]
# shellcheck disable=SC2317 # main calls it by name
command_applet() {
  timed "builds the applet and the daemon" applet_programs
  if [[ ${1-} == --screenshot ]]; then
    (($# >= 2)) || die "--screenshot takes a file"
    python3 -B "$top/tests/applet/screenshot.py" "${@:2}"
    return
  fi
  if [[ ${1-} == --screenshots ]]; then
    (($# >= 2)) || die "--screenshots takes a directory"
    python3 -B "$top/tests/applet/pictures.py" "${@:2}"
    return
  fi
  [[ -n ${DISPLAY-}${WAYLAND_DISPLAY-} ]] ||
    die "there is no display here; --screenshot FILE needs none"
  HOME=/tmp GSK_RENDERER=cairo dbus-run-session -- "$CARGO_TARGET_DIR/debug/pandemonium-applet" --demo "$@"
}

# shellcheck shell=bash
# The programs and the Debian packages. Everything here runs inside the build image.

# The workload is static, so that it runs in a bare VM and on any distribution.
static_target=x86_64-unknown-linux-gnu

# build_programs [applet]: what runs in virtual machines; they have no desktop. With the window what both depend on
# has other features, so whoever builds its package as well builds everything in one way.
build_programs() {
  local packages=(--package pandemonium-cli --package pandemonium-daemon)
  [[ ${1-} != applet ]] || packages+=(--package pandemonium-applet)
  cd "$top"
  cargo build --release "${packages[@]}"
  RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --target "$static_target" --bin pandemonium-workload
}

# build_programs_beside [applet]: the same with what others leave of the CPUs.
build_programs_beside() {
  renice -n 19 "$BASHPID"
  build_programs "$@"
}

# built_program NAME: the path of a program that build_programs made; fails if there is none.
built_program() {
  local file=$CARGO_TARGET_DIR/release/$1
  [[ $1 != pandemonium-workload ]] || file=$CARGO_TARGET_DIR/$static_target/release/$1
  [[ -e $file ]] && echo "$file"
}

# The files of the window, which is a package of its own, below /usr.
applet_files=(bin/pandemonium-applet share/applications share/dbus-1/services share/icons share/locale share/metainfo
  share/man/man1/pandemonium-applet.1)

# package_file [NAME]: where the Debian package is built.
package_file() {
  echo "$CARGO_TARGET_DIR/package/${1:-pandemonium}.deb"
}

# package [applet]: build the Debian package of the service and, if asked, that of the window, which takes some minutes
# more. Unchanged sources make the same bytes.
package() {
  local work=$CARGO_TARGET_DIR/package stage=$CARGO_TARGET_DIR/package/stage
  local window=$work/stage-applet with_applet=false path
  [[ -e $top/meson.build ]] || die "needs meson.build to make a package"
  [[ ${1-} != applet ]] || with_applet=true
  mkdir -p "$work"
  rm -f "$work"/*.deb # a failed build leaves none, not an old one
  if [[ -e $work/meson/build.ninja ]]; then
    meson setup --reconfigure -Dapplet="$with_applet" "$work/meson" "$top"
  else
    remove_tree "$work/meson"
    meson setup --prefix=/usr --sysconfdir=/etc --localstatedir=/var --libexecdir=libexec --buildtype=release \
      -Dapplet="$with_applet" "$work/meson" "$top"
  fi
  meson compile -C "$work/meson"
  remove_tree "$stage"
  remove_tree "$window"
  meson install --no-rebuild -C "$work/meson" --destdir "$stage"
  if [[ $with_applet == true ]]; then
    for path in "${applet_files[@]}"; do
      mkdir -p "$(dirname "$window/usr/$path")"
      mv "$stage/usr/$path" "$window/usr/$path"
    done
    debian_package pandemonium-applet "$window"
  fi
  debian_package pandemonium "$stage"
}

# debian_package NAME STAGE: the package of the files in STAGE, about which tools/deb/NAME tells the rest.
debian_package() {
  local name=$1 stage=$2 work=$CARGO_TARGET_DIR/package programs script
  install -D -m644 "$top/tools/deb/copyright" "$stage/usr/share/doc/$name/copyright"
  if [[ -e $top/CHANGELOG.md ]]; then
    gzip -9nc "$top/CHANGELOG.md" >"$stage/usr/share/doc/$name/changelog.gz"
  fi
  find "$stage/usr/share/man" -type f -exec gzip -9n {} +
  mapfile -t programs < <(find "$stage"/usr/{bin,libexec} -type f -perm -u+x 2>/dev/null)
  strip --strip-unneeded "${programs[@]}"

  mkdir -p "$stage/DEBIAN" "$work/debian"
  printf 'Source: pandemonium\n\nPackage: %s\nArchitecture: any\n' "$name" >"$work/debian/control"
  sed -e "s/@VERSION@/$(package_version)/" \
    -e "s/@LIBRARIES@/$(cd "$work" && dpkg-shlibdeps -O "${programs[@]}" | sed -n 's/^shlibs:Depends=//p')/" \
    -e "s/@SIZE@/$(du -sk "$stage/usr" | cut -f1)/" \
    "$top/tools/deb/$name/control" >"$stage/DEBIAN/control"
  for script in postinst prerm postrm; do
    [[ ! -e $top/tools/deb/$name/$script ]] || install -m755 -t "$stage/DEBIAN" "$top/tools/deb/$name/$script"
  done
  if [[ -d $stage/etc ]]; then
    (cd "$stage" && find etc -type f -printf '/%p\n' | sort) >"$stage/DEBIAN/conffiles"
  fi
  SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct 2>/dev/null || echo 0) \
    dpkg-deb --root-owner-group -Zxz --build "$stage" "$(package_file "$name")"
}

package_version() {
  sed -n 's/^version *= *"\(.*\)"$/\1/p' "$top/Cargo.toml" | head -n 1
}

command_package() {
  local name file
  timed "builds the packages" package applet
  for name in pandemonium pandemonium-applet; do
    file=build/${name}_$(package_version)_amd64.deb
    install -D -m644 "$(package_file "$name")" "$top/$file"
    echo "$file"
  done
}

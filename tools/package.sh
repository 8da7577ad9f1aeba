# shellcheck shell=bash
# The programs and the Debian package. Everything here runs inside the build image.

# The workload is static, so that it runs in a bare VM and on any distribution.
static_target=x86_64-unknown-linux-gnu

build_programs() {
  cd "$top"
  # Virtual machines have no desktop.
  cargo build --release --workspace --exclude pandemonium-applet --bins
  RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --target "$static_target" --bin pandemonium-workload
}

# built_program NAME: the path of a program that build_programs made; fails if there is none.
built_program() {
  local file=$CARGO_TARGET_DIR/release/$1
  [[ $1 != pandemonium-workload ]] || file=$CARGO_TARGET_DIR/$static_target/release/$1
  [[ -e $file ]] && echo "$file"
}

package_file() {
  echo "$CARGO_TARGET_DIR/package/pandemonium.deb"
}

# package: build the Debian package; unchanged sources make the same bytes.
package() {
  local work=$CARGO_TARGET_DIR/package stage=$CARGO_TARGET_DIR/package/stage
  [[ -e $top/meson.build ]] || die "needs meson.build to make a package"
  mkdir -p "$work"
  rm -f "$(package_file)" # a failed build leaves none, not an old one
  if [[ -e $work/meson/build.ninja ]]; then
    meson setup --reconfigure "$work/meson" "$top"
  else
    remove_tree "$work/meson"
    meson setup --prefix=/usr --sysconfdir=/etc --localstatedir=/var --libexecdir=libexec --buildtype=release \
      -Dapplet=false "$work/meson" "$top"
  fi
  meson compile -C "$work/meson"
  remove_tree "$stage"
  meson install --no-rebuild -C "$work/meson" --destdir "$stage"
  package_control "$stage" "$work"
  SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct 2>/dev/null || echo 0) \
    dpkg-deb --root-owner-group -Zxz --build "$stage" "$(package_file)"
}

# package_control STAGE WORK: fill STAGE/DEBIAN from the templates in tools/deb.
package_control() {
  local stage=$1 work=$2 programs
  install -D -m644 "$top/tools/deb/copyright" "$stage/usr/share/doc/pandemonium/copyright"
  if [[ -e $top/CHANGELOG.md ]]; then
    gzip -9nc "$top/CHANGELOG.md" >"$stage/usr/share/doc/pandemonium/changelog.gz"
  fi
  mapfile -t programs < <(find "$stage/usr/bin" "$stage/usr/libexec" -type f -perm -u+x)
  strip --strip-unneeded "${programs[@]}"

  mkdir -p "$stage/DEBIAN" "$work/debian"
  printf 'Source: pandemonium\n\nPackage: pandemonium\nArchitecture: any\n' >"$work/debian/control"
  sed -e "s/@VERSION@/$(package_version)/" \
    -e "s/@LIBRARIES@/$(cd "$work" && dpkg-shlibdeps -O "${programs[@]}" | sed -n 's/^shlibs:Depends=//p')/" \
    -e "s/@SIZE@/$(du -sk "$stage/usr" | cut -f1)/" \
    "$top/tools/deb/control" >"$stage/DEBIAN/control"
  install -m755 -t "$stage/DEBIAN" "$top"/tools/deb/{postinst,prerm,postrm}
  if [[ -d $stage/etc ]]; then
    (cd "$stage" && find etc -type f -printf '/%p\n' | sort) >"$stage/DEBIAN/conffiles"
  fi
}

package_version() {
  sed -n 's/^version *= *"\(.*\)"$/\1/p' "$top/Cargo.toml" | head -n 1
}

command_package() {
  local file
  timed "builds the package" package
  file=build/pandemonium_$(package_version)_amd64.deb
  install -D -m644 "$(package_file)" "$top/$file"
  echo "$file"
}

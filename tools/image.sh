# shellcheck shell=bash
# The images: a Debian tree to build and run virtual machines in, and the root of the system VM.

# packages NAME: the packages of the image NAME, one per line.
packages() {
  sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$top/tools/packages-$1.list"
}

# image_dir NAME: where the image NAME is kept; another list is another place.
image_dir() {
  echo "$cache/images/$1-$(packages "$1" | sha256sum | cut -c1-12)"
}

# image NAME: make the image NAME unless it is there.
image() {
  local dir
  dir=$(image_dir "$1")
  [[ -d $dir ]] || locked images image_make "$1" "$dir"
}

image_make() {
  local name=$1 dir=$2
  [[ ! -d $dir ]] || return 0 # made while this run waited for the lock
  need_mmdebstrap
  mkdir -p "$cache/images"
  remove_tree "$dir.part"
  timed "makes the $name image (a few minutes, once)" image_bootstrap "$name" "$dir.part"
  [[ $name != build ]] || touch "$dir.part/etc/pandemonium-image"
  mv "$dir.part" "$dir"
}

image_bootstrap() {
  local mirror=${PANDEMONIUM_MIRROR:-http://deb.debian.org/debian} aside
  mirror=${mirror%/}
  # shellcheck disable=SC2016 # the hook's own variables
  local hook='mkdir -p "$1/usr/lib/aside/partial" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -qq --yes \
    --no-install-recommends --download-only -o Dir::Cache::archives="$1/usr/lib/aside/" install'
  aside=$(packages "$1" | sed -n 's/^aside://p' | paste -sd' ')
  # A mount namespace of its own: whatever ends this run, nothing stays mounted in the tree.
  unshare --mount -- mmdebstrap --quiet --mode="$bootstrap_mode" --variant=minbase \
    --include="$(packages "$1" | sed '/^aside:/d' | paste -sd,)" \
    ${aside:+--customize-hook="$hook $aside"} \
    --aptopt='Acquire::Languages "none"' \
    --aptopt='Acquire::Retries "3"' \
    --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    trixie "$2" \
    "deb $mirror trixie main" \
    "deb $mirror trixie-updates main" \
    "deb $mirror trixie-backports main" \
    "deb $mirror-security trixie-security main"
}

# in_image COMMAND...: run COMMAND in the build image.
in_image() {
  unshare --mount -- "$top/tools/enter" "$(image_dir build)" "$top" "$cache" "$(target_dir)" "$@"
}

# target_dir: what is built from this checkout; everything else is shared by all checkouts.
target_dir() {
  echo "$cache/targets/$(basename "$top")-$(cksum <<<"$top" | cut -d' ' -f1)"
}

need_mmdebstrap() {
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  if command -v mmdebstrap >/dev/null && [[ -e $keyring ]]; then
    return
  fi
  if [[ $bootstrap_mode == root && -e /etc/debian_version ]]; then
    timed "installs mmdebstrap with apt-get" apt_install mmdebstrap debian-archive-keyring
    return
  fi
  die "needs mmdebstrap: apt-get install mmdebstrap debian-archive-keyring"
}

apt_install() {
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >&2
}

# remove_tree DIR: remove DIR, but nothing that is mounted below it.
remove_tree() {
  [[ ! -e $1 ]] || rm -rf --one-file-system -- "$1"
}

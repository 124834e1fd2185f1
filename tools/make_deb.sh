#!/bin/sh
# make_deb.sh BUILD OUT: builds nucleon as Debian packages have it, in BUILD, and writes the packages to OUT.
set -eu
[ $# -eq 2 ] || { echo "usage: make_deb.sh BUILD OUT" >&2; exit 2; }
build=$1
out=$2
source=$(cd "$(dirname "$0")/.." && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quiet() {
    "$@" >"$log" 2>&1 || { cat "$log" >&2; echo "make_deb.sh: '$1' failed; its words are above" >&2; exit 1; }
}
DEB_BUILD_MAINT_OPTIONS=hardening=+bindnow
export DEB_BUILD_MAINT_OPTIONS
# The flags of Debian's packages; paths of this machine stay out.
mkdir -p "$build"
build=$(cd "$build" && pwd)
CFLAGS="$(dpkg-buildflags --get CFLAGS) -g0 -ffile-prefix-map=$source=. -ffile-prefix-map=$build=."
CPPFLAGS=$(dpkg-buildflags --get CPPFLAGS)
LDFLAGS=$(dpkg-buildflags --get LDFLAGS)
export LDFLAGS
CFLAGS="$CFLAGS $CPPFLAGS"
export CFLAGS
quiet cmake -G Ninja -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF \
    -DNUCLEON_WERROR=OFF -DNUCLEON_ZSH_DIR=share/zsh/vendor-completions \
    -DNUCLEON_PYTHON_DIR=lib/python3/dist-packages
echo "building in $build"
quiet cmake --build "$build"
rm -rf "$build/stage"
DESTDIR=$build/stage quiet cmake --install "$build"
mkdir -p "$out"
rm -f "$out"/*.deb
sh "$source/tools/deb.sh" "$build/stage" "$out" >"$log"
sed "s|^|$out/|" "$log"

#!/bin/sh
# Builds build/i386/nucleon for a 32-bit host, Release, with SSE2 arithmetic: x87 registers would round otherwise; with the
# machine's fused multiply-add where it has one, since a call of fma() for each product takes five times as long. The
# libraries come from Debian's packages for i386, unpacked in build/i386/root: nothing is installed. Exit code 77 and a
# line with the remedy where this machine cannot.
set -eu
cd "$(dirname "$0")/.."
flags="-m32 -msse2 -mfpmath=sse"
if grep -qw fma /proc/cpuinfo; then flags="$flags -mfma"; fi
build=build/i386 root=build/i386/root

skip() {
    echo "i386.sh: skipped: $1" >&2
    exit 77
}
mkdir -p "$build"
echo 'int main(void) { return 0; }' >"$build/runs.c"
# shellcheck disable=SC2086
{ gcc $flags "$build/runs.c" -o "$build/runs" && "$build/runs"; } 2>/dev/null ||
    skip "gcc -m32 makes no program that runs here: apt-get install gcc-multilib"

if [ ! -f "$root/complete" ]; then
    rm -rf "$root" && mkdir -p "$root"
    dpkg --print-foreign-architectures 2>/dev/null | grep -qx i386 ||
        skip "Debian's packages for i386 are unknown here: dpkg --add-architecture i386 && apt-get update"
    (cd "$root" && apt-get -qq download zlib1g-dev:i386 libjpeg62-turbo-dev:i386 libpng-dev:i386 libjansson-dev:i386) \
        >"$build/download.log" 2>&1 ||
        skip "Debian's packages for i386 cannot be loaded, see $build/download.log: apt-get update"
    for package in "$root"/*.deb; do
        dpkg-deb -x "$package" "$root"
    done
    rm -f "$root"/*.deb "$root"/usr/lib/i386-linux-gnu/*.so # the linker shall take the archives
    touch "$root/complete"
fi
root=$(cd "$root" && pwd)
PKG_CONFIG_LIBDIR=$root/usr/lib/i386-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
{
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
        -DCMAKE_C_FLAGS="$flags -I$root/usr/include -I$root/usr/include/i386-linux-gnu" &&
        cmake --build "$build" --target nucleon
} >"$build/build.log" 2>&1 || { tail -n 30 "$build/build.log" >&2; exit 1; }
echo "built for 32 bits in $build"

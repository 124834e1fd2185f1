#!/bin/sh
# other_host.sh i386|arm64: builds nucleon for another host, Release, in build/i386 or build/arm64. The libraries come from
# Debian's packages for it, unpacked in root/ there: nothing is installed, and the program needs the C library alone. Exit
# code 77 and a line with the remedy where this machine cannot.
set -eu
cd "$(dirname "$0")/.."
arch=${1:-}
skip() {
    echo "other_host.sh: skipped: $1" >&2
    exit 77
}
try() {
    mkdir -p "build/$arch"
    echo 'int main(void) { return 0; }' >"build/$arch/runs.c"
    # shellcheck disable=SC2086
    $cc $flags "build/$arch/runs.c" -o "build/$arch/runs" 2>/dev/null
}
case $arch in
i386)
    # SSE2 arithmetic: x87 registers would round otherwise; with the machine's fused multiply-add where it has one, since a
    # call of fma() for each product takes five times as long.
    cc=gcc triplet=i386-linux-gnu flags="-m32 -msse2 -mfpmath=sse" cross=
    if grep -qw fma /proc/cpuinfo; then flags="$flags -mfma"; fi
    { try && "build/$arch/runs" 2>/dev/null; } ||
        skip "gcc -m32 makes no program that runs here: apt-get install gcc-multilib"
    ;;
arm64)
    cc=aarch64-linux-gnu-gcc triplet=aarch64-linux-gnu flags=-fno-tree-loop-vectorize # in which gcc 12 has an internal error
    cross="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DNUCLEON_WERROR=OFF"
    try || skip "there is no compiler for it: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
    ;;
*)
    echo "usage: other_host.sh i386|arm64" >&2
    exit 2
    ;;
esac
build=build/$arch root=build/$arch/root

if [ ! -f "$root/complete" ]; then
    rm -rf "$root" && mkdir -p "$root"
    dpkg --print-foreign-architectures 2>/dev/null | grep -qx "$arch" ||
        skip "Debian's packages for $arch are unknown here: dpkg --add-architecture $arch && apt-get update"
    (cd "$root" && apt-get -qq download "zlib1g-dev:$arch" "libjpeg62-turbo-dev:$arch" "libpng-dev:$arch" \
        "libjansson-dev:$arch") >"$build/download.log" 2>&1 ||
        skip "Debian's packages for $arch cannot be loaded, see $build/download.log: apt-get update"
    for package in "$root"/*.deb; do
        dpkg-deb -x "$package" "$root"
    done
    rm -f "$root"/*.deb "$root/usr/lib/$triplet"/*.so # the linker shall take the archives
    touch "$root/complete"
fi
root=$(cd "$root" && pwd)
PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
{
    # shellcheck disable=SC2086
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DCMAKE_C_COMPILER="$cc" $cross \
        -DCMAKE_C_FLAGS="$flags -I$root/usr/include -I$root/usr/include/$triplet" &&
        cmake --build "$build" --target nucleon
} >"$build/build.log" 2>&1 || { tail -n 30 "$build/build.log" >&2; exit 1; }
echo "built for $arch in $build"

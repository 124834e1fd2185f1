#!/bin/sh
# Builds build/web/nucleon.html, the compiler in a page (docs/web.md), with Debian's emscripten. The libraries are compiled
# from the sources of Debian's packages, which are loaded once, below build/web: nothing is installed. Exit code 77 and a
# line with the remedy where this machine cannot.
set -eu
cd "$(dirname "$0")/.."
build=build/web

skip() {
    echo "web.sh: skipped: $1" >&2
    exit 77
}
for tool in emcc node cmake ninja pkg-config; do
    command -v "$tool" >/dev/null || skip "$tool is missing: apt-get install --no-install-recommends emscripten cmake ninja-build pkg-config"
done

# What emcc needs to shorten JavaScript lies where Debian's node looks for it, and no other.
NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
export NODE_PATH

mkdir -p "$build"
root=$(cd "$build" && pwd)/libraries
if [ ! -f "$root/complete" ]; then
    sh tools/web_libraries.sh "$root" >"$build/libraries.log" 2>&1 || {
        tail -n 5 "$build/libraries.log" >&2
        skip "zlib, jansson, libpng and libjpeg cannot be loaded from deb.debian.org or compiled, see $build/libraries.log"
    }
fi
PKG_CONFIG_LIBDIR=$root/lib/pkgconfig EM_PKG_CONFIG_PATH=$root/lib/pkgconfig
export PKG_CONFIG_LIBDIR EM_PKG_CONFIG_PATH
{
    emcmake cmake -Wno-dev -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
        -DCMAKE_FIND_ROOT_PATH="$root" -DCMAKE_C_FLAGS=-msimd128 "$@" &&
        cmake --build "$build" --target web
} >"$build/build.log" 2>&1 || { tail -n 30 "$build/build.log" >&2; exit 1; }
echo "built build/web/nucleon.html"

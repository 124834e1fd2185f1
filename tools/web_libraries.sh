#!/bin/sh
# zlib, jansson, libpng and libjpeg for WebAssembly, from the sources of Debian's packages: web_libraries.sh FOLDER. apt
# verifies them; its lists are in the folder, too, since few machines have those of sources.
set -eu
root=$1
# shellcheck disable=SC1091
. /etc/os-release
rm -rf "$root"
mkdir -p "$root/lists/partial" "$root/source" "$root/include" "$root/lib/pkgconfig"
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian" \
    "${VERSION_CODENAME:-stable} main" >"$root/sources.list"
apt() {
    apt-get -q -o Dir::Etc::SourceList="$root/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$root/lists" -o APT::Sandbox::User= "$@"
}
cd "$root/source"
apt update
apt source --download-only zlib jansson libpng1.6 libjpeg-turbo
for archive in *.orig.tar.*; do
    case $archive in *.asc) continue ;; esac
    mkdir "${archive%%_*}"
    tar -xf "$archive" -C "${archive%%_*}" --strip-components=1
done

# describe NAME PACKAGE: what pkg-config says of lib/libNAME.a.
describe() {
    printf 'Name: %s\nDescription: %s\nVersion: 0\nLibs: -L%s -l%s\nCflags: -I%s\n' "$2" "$2" "$root/lib" "$1" \
        "$root/include" >"$root/lib/pkgconfig/$2.pc"
}

# library NAME PACKAGE SOURCE...: lib/libNAME.a of C files.
library() {
    name=$1
    package=$2
    shift 2
    mkdir -p "$root/objects/$name"
    for file in "$@"; do
        echo "emcc -O3 -w -I$root/include -I. ${flags:-} -c $file -o $root/objects/$name/$(basename "$file").o"
    done | xargs -P 2 -I COMMAND sh -c COMMAND
    emar rcs "$root/lib/lib$name.a" "$root/objects/$name"/*.o
    describe "$name" "$package"
}

cd "$root/source/zlib"
cp zlib.h zconf.h "$root/include"
library z zlib ./*.c

cd "$root/source/libpng1.6"
cp scripts/pnglibconf.h.prebuilt pnglibconf.h
cp png.h pngconf.h pnglibconf.h "$root/include"
rm pngtest.c example.c
library png libpng ./*.c

cd "$root/source/jansson"
emcmake cmake -B build -G Ninja -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF
cp build/include/*.h build/private_include/*.h src/
cp src/jansson.h src/jansson_config.h "$root/include"
cd src
flags=-DHAVE_CONFIG_H
library jansson jansson ./*.c

cd "$root/source/libjpeg-turbo"
# The size of a size_t is what CMake does not find out here.
emcmake cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-w -DHAVE_SIZE_T=1 -DSIZE_T=4 -DWITH_SIMD=0 \
    -DENABLE_SHARED=0 -DWITH_TURBOJPEG=0
cmake --build build -j 2 --target jpeg-static
cp jpeglib.h jmorecfg.h jerror.h build/jconfig.h "$root/include"
cp build/libjpeg.a "$root/lib"
describe jpeg libjpeg
touch "$root/complete"

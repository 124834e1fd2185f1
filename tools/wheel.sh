#!/bin/sh
# wheel.sh BUILD OUT: the wheel for every Linux, of what BUILD has compiled, with zlib, libjpeg, libpng and jansson inside,
# in the folder OUT. It fails where the wheel would be for this distribution alone, or for a newer C library than GLIBC
# (2.34).
set -eu
[ $# -eq 2 ] || { echo "usage: wheel.sh BUILD OUT" >&2; exit 2; }
fail() { echo "wheel.sh: $*" >&2; exit 1; }
mkdir -p "$2"
out=$(cd "$2" && pwd)
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../python/build_backend"
cmake --build "$build" --target nucleon_wheel >"$build/wheel.log" 2>&1 || fail "$(cat "$build/wheel.log")"
NUCLEON_LIBRARY=$build/wheel/libnucleon.so.0
export NUCLEON_LIBRARY
name=$(python3 -B -c "import sys, nucleon_wheel; print(nucleon_wheel.build_wheel(sys.argv[1]))" "$out")
case $name in
*-manylinux_2_*) ;;
*) fail "$name is for this distribution alone: it needs" \
    "$(objdump -p "$NUCLEON_LIBRARY" | sed -n 's/.*NEEDED *//p' | tr '\n' ' ')" ;;
esac
newest=$(echo "$name" | sed 's/.*manylinux_2_\([0-9]*\).*/\1/')
[ "$newest" -le "${GLIBC:-34}" ] || fail "$name: 2.$newest of the C library is newer than 2.${GLIBC:-34}:" \
    "$(objdump -T "$NUCLEON_LIBRARY" | sed -n "s/.*(GLIBC_2\.$newest) //p" | tr '\n' ' ')"
echo "$out/$name"

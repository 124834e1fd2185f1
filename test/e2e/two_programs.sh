#!/bin/sh
# two_programs.sh NUCLEON SOURCE_ROOT: the example of two programs in one firmware prints what its README says: both give
# what they give alone, in the memory of the larger one. 77, "skipped", without the Arm toolchain or QEMU.
set -u
[ $# -eq 2 ] || { echo "usage: two_programs.sh NUCLEON SOURCE_ROOT" >&2; exit 2; }
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
case $1 in /*) NUCLEON=$1 ;; *) NUCLEON=$PWD/$1 ;; esac
export NUCLEON
example=$(cd "$2/examples/two_programs" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
sh "$example/run.sh" --out "$work" >"$work/page" || { echo "FAIL run.sh" >&2; exit 1; }
cat "$work/page"
# What depends on the compiler is not compared.
grep -v '^flash' "$work/page" | while IFS= read -r line; do
    grep -qxF "$line" "$example/README.md" || { echo "FAIL README.md does not have: $line" >&2; exit 1; }
done || exit 1
awk '$1 == "planned" { more = $4 > $3 ? $4 : $3; planned = $5 == more }
    $1 == "flash" { flash = $4 < $2 + $3 && $4 > $2 }
    END { exit !(planned && flash) }' "$work/page" || { echo "FAIL the image of both is not what it should be" >&2; exit 1; }

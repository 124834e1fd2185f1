# What the scripts of this folder begin with that are called SCRIPT.sh NUCLEON DEVICE_BUILD SOURCE_ROOT; they read it with '.'.
# They are in an empty folder then, which goes when they end, with the installed device libraries in `work`/prefix.
# `nucleon`, `build`, `root` and `digits` are absolute paths. 77, "skipped", without the Arm toolchain, QEMU or the build.
# shellcheck shell=sh disable=SC2034
set -u
[ $# -eq 3 ] || { echo "usage: $0 NUCLEON DEVICE_BUILD SOURCE_ROOT" >&2; exit 2; }
case $1 in /*) nucleon=$1 ;; *) nucleon=$PWD/$1 ;; esac
root=$(cd "$3" && pwd)
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
[ -d "$2" ] || { echo "no build in $2"; exit 77; }
build=$(cd "$2" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2

fail() {
    echo "FAIL $*" >&2
    exit 1
}

digits=$root/examples/digits
cmake --install "$build" --prefix "$work/prefix" >log || fail "installation: $(cat log)"

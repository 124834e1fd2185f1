#!/bin/sh
# firmware.sh PROGRAM.pte [NPU [INPUT]]: builds an image for QEMU's mps2-an505 in build/firmware and prints its size.
# CPU=cortex-m55: for its mps3-an547, in build/firmware-cortex-m55; by itself for programs that say so.
# GENERATED=1: with C from nucleon codegen instead of the program file and the runtime.
# APPLICATION=FILE.c: with that program, which calls the generated C, in place of the runner. The working folder is an
# include folder, too.
# SELFTEST=1: of a bundled program (.bpte), an image that runs its test cases and says PASS or which node differs.
# NUCLEON_CMSIS_NN_DIR=DIR: with CMSIS-NN's kernels.
# NPU: none (default when the program has no delegate), sim (default else), or a driver library for silicon.
set -eu
[ $# -ge 1 ] && [ $# -le 3 ] && [ -n "$1" ] || { echo "usage: firmware.sh PROGRAM.pte [NPU [INPUT]]" >&2; exit 2; }
absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac; }
program=$(absolute "$1")
[ -f "$program" ] || { echo "firmware.sh: $1: no such file" >&2; exit 1; }
case ${SELFTEST:-} in 0 | OFF) SELFTEST= ;; esac
[ "$(dd if="$program" bs=1 count=4 2>/dev/null | tr -d '\000')" != NUCP ] ||
    { echo "firmware.sh: $1: is a package (.npk): give the program (.pte) that it was made of" >&2; exit 1; }
kind=$(dd if="$program" bs=1 skip=4 count=4 2>/dev/null | tr -d '\000')
[ "$kind" = ET12 ] || [ "$kind" = BP08 ] ||
    { echo "firmware.sh: $1: is not a program (.pte): make one with 'nucleon compile'" >&2; exit 1; }
[ "$kind" = BP08 ] || [ -z "${SELFTEST:-}" ] || {
    echo "firmware.sh: $1: has no test cases: compile it with '--self-test N -o FILE.bpte'" >&2
    exit 1
}
root=$(cd "$(dirname "$0")/.." && pwd)
nucleon=${NUCLEON:-$root/build/release/nucleon}
[ -x "$nucleon" ] || { echo "firmware.sh: $nucleon is missing: run 'make' first" >&2; exit 1; }
cpu=$("$nucleon" inspect "$program" 2>/dev/null | sed -n 's/^  target .*, //p')
case $cpu in
Cortex-M55 | Cortex-M85)
    [ "${CPU:-cortex-m55}" = cortex-m55 ] || {
        echo "firmware.sh: $1: is for a $cpu: leave CPU=$CPU out, or compile it with --target $CPU" >&2
        exit 1
    }
    CPU=cortex-m55
    ;;
esac
case ${CPU:-} in
'' | cortex-m33) toolchain=cm33 folder=firmware ;;
cortex-m55) toolchain=cm55 folder=firmware-cortex-m55 ;;
*) echo "firmware.sh: CPU is '$CPU': there are boards for cortex-m33 and cortex-m55" >&2; exit 2 ;;
esac
build=${FIRMWARE_BUILD:-$root/build/$folder}
command -v arm-none-eabi-gcc >/dev/null || { echo "firmware.sh: arm-none-eabi-gcc is missing" >&2; exit 1; }
npu=none
if "$nucleon" inspect "$program" | grep -q NeutronBackend; then npu=sim; fi
[ -z "${2:-}" ] || npu=$2
case $npu in none | sim | '') ;; *) npu=$(absolute "$npu") ;; esac
input=${3:-}
[ -z "$input" ] || input=$(absolute "$input")
application=${APPLICATION:-}
[ -z "$application" ] || { application=$(absolute "$application") GENERATED=1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake -G Ninja -S "$root" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/$toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=MinSizeRel -DNUCLEON_DEVICE_ONLY=ON -DNUCLEON_PROGRAM="$program" -DNUCLEON_NPU="$npu" \
    -DNUCLEON_INPUT="$input" -DNUCLEON_GENERATED="${GENERATED:-OFF}" -DNUCLEON_HOST="$nucleon" \
    -DNUCLEON_APPLICATION="$application" -DNUCLEON_APPLICATION_INCLUDE="$PWD" \
    -DNUCLEON_SELFTEST="${SELFTEST:-OFF}" -DNUCLEON_FAULTS="${FAULTS:-}" \
    -DNUCLEON_CMSIS_NN_DIR="${NUCLEON_CMSIS_NN_DIR:-}" >"$log" 2>&1 ||
    ! cmake --build "$build" --target firmware >>"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
name=$(basename "$program")
case ${GENERATED:-OFF} in 1 | ON) suffix=_generated ;; *) suffix= ;; esac
[ -z "${SELFTEST:-}" ] || suffix=${suffix}_selftest
image=$build/firmware/${name%%.*}$suffix.elf
echo "image $image"
arm-none-eabi-size -A "$image" | awk '
    $1 == ".program" { program = $2 }
    $1 ~ /^\.(vectors|text|rodata|ARM\.exidx|data)$/ { code += $2 }
    $1 ~ /^\.(data|bss)$/ { ram += $2 }
    END { printf "flash without the program %d, program %d, static data %d bytes\n", code, program, ram }'

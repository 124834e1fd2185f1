#!/bin/sh
# codegen.sh NUCLEON BUILD SOURCE_ROOT: C made of programs gives the bytes the programs give, on the host and, where the
# Arm toolchain and QEMU are, on a Cortex-M33, in an image smaller than that with the program file and its reader.
set -u
[ $# -eq 3 ] || { echo "usage: codegen.sh NUCLEON BUILD SOURCE_ROOT" >&2; exit 2; }
case $1 in /*) NUCLEON=$1 ;; *) NUCLEON=$PWD/$1 ;; esac
build=$(cd "$2" && pwd)
root=$(cd "$3" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2
export NUCLEON

fail() {
    echo "FAIL $*" >&2
    exit 1
}

digits=$root/examples/digits
: >empty.pte
"$NUCLEON" codegen empty.pte -o out 2>err && fail "code of an empty file"
grep -q "empty.pte" err || fail "the message names the file: $(cat err)"
[ ! -e out/empty.c ] || fail "a refused program leaves a file"
"$NUCLEON" codegen empty.pte 2>/dev/null
[ $? -eq 2 ] || fail "codegen without -o is a mistake in usage"

# The float samples of the .npz, after the header of the array.
unzip -q -o "$digits/test.npz" input.npy || { echo "no unzip"; exit 77; }
tail -c 92160 input.npy >input.bin

compile() { # NAME OPTIONS
    name=$1
    shift
    "$NUCLEON" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" "$@" -o "$name.pte" >/dev/null ||
        fail "$name: is not compiled"
    "$NUCLEON" run "$name.pte" --input "$digits/test.npz" --output "$name.npz" || fail "$name: does not run"
    unzip -q -o "$name.npz" out0.npy && tail -c 14400 out0.npy >"$name.expected" || fail "$name: no outputs"
    "$NUCLEON" codegen "$name.pte" -o "$name" --name model || fail "$name: no code"
}

check_host() { # NAME
    cc -std=c11 -O2 -Wall -Wextra -Werror -I"$1" -I"$root/include" "$root/test/e2e/codegen_main.c" \
        "$1/model.c" "$1/model_data.c" "$build/src/device/runtime/libnuc_runtime.a" \
        "$build/src/device/kernels/libnuc_kernels.a" "$build/src/device/npusim/libNeutronDriver.a" "$build/src/device/base/libnuc_base.a" \
        -lm -lpthread -o "$1.exe" || fail "$1: the code does not build"
    "./$1.exe" <input.bin >"$1.got" || fail "$1: the code does not run"
    cmp "$1.expected" "$1.got" || fail "$1: code and program differ"
    echo "ok   $1 on the host"
}

compile npu
check_host npu
compile cpu --no-delegate
check_host cpu
compile strips --target cortex-m33 --memory-budget 6000
check_host strips

for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "no $tool: host only"; exit 0; }
done
flash() { # of an image: code, constants and program
    arm-none-eabi-size -A "$1" | awk '$1 ~ /^\.(vectors|text|rodata|ARM\.exidx|data|program)$/ { n += $2 } END { print n }'
}
for g in OFF ON; do
    GENERATED=$g FIRMWARE_BUILD=$work/firmware$g sh "$root/tools/firmware.sh" npu.pte >built || fail "image: $(cat built)"
done
sh "$root/tools/firmware_run.sh" firmwareON/firmware/npu_generated.elf input.bin board.bin >ran || fail "$(cat ran)"
cmp npu.expected board.bin || fail "board and host differ"
with=$(flash firmwareOFF/firmware/npu.elf)
without=$(flash firmwareON/firmware/npu_generated.elf)
[ "$without" -lt "$with" ] || fail "the image with C has $without bytes, with the program file $with"
echo "ok   on the board: $without bytes of flash instead of $with"

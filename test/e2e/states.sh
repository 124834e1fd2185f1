#!/bin/sh
# states.sh NUCLEON SOURCE_ROOT BUILD: a program that remembers, in what is made of it and said of it.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"

# 20 samples of 8 values, one sequence.
/usr/bin/python3 - <<'PYTHON' || fail "no sequence"
import array
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (20, 8), }"
values = array.array("f", [((i * 37) % 41 - 20) / 16 for i in range(160)])
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00v\x00" + b"%-117s\n" % header + values.tobytes())
open("x.bin", "wb").write(values.tobytes())
PYTHON
"$nucleon" compile "$root/test/e2e/states.pt2" --calibration x.npy -o states.pte -q || fail "is not compiled"

# ---- evaluate: no part of a sequence stands for itself ----

"$nucleon" evaluate states.pte --dataset x.npy --reference "$root/test/e2e/states.pt2" >out || fail "evaluate"
"$nucleon" evaluate states.pte --dataset x.npy --shard 1/2 --json >out 2>err
check "exit code of a shard" [ $? -eq 2 ]
check "a shard: $(cat err)" \
    grep -q -e "--shard 1/2: the program has states, .*: evaluate the whole data set without --shard" err
check "a shard: one line" [ "$(wc -l <err)" -eq 1 ]

# ---- what is said of it: states by name and bytes, int8 as far as they are kept as such ----

"$nucleon" inspect states.pte >out || fail "inspect"
check "inspect" grep -q "^  state 'mean', 8 bytes: %[0-9]*$" out
"$nucleon" explain "$root/test/e2e/states.pt2" --calibration x.npy >out || fail "explain"
check "explain" grep -q "^state mean: 8 bytes, kept from run to run$" out
"$nucleon" explain "$root/test/e2e/states.pt2" --calibration x.npy --json >out || fail "explain as JSON"
check "explain as JSON" grep -q '^ "states": \[{"name": "h", "bytes": 8}, {"name": "mean", "bytes": 8}\]' out
"$nucleon" report "$root/test/e2e/states.pt2" --calibration x.npy -o report.json -q || fail "report"
check "report" [ "$(tr -d ' \n' <report.json | grep -o '"states":\[[^]]*\]')" = \
    '"states":[{"name":"h","bytes":8},{"name":"mean","bytes":8}]' ]

# ---- codegen: two sequences of the same samples, with a reset between, are what `run` gives twice ----

cat x.bin x.bin >twice.bin
# codegen NAME OPTIONS: compiles, runs, and runs the C made of it.
codegen() {
    kind=$1
    shift
    "$nucleon" compile "$root/test/e2e/states.pt2" --calibration x.npy "$@" -o "$kind.pte" -q &&
        "$nucleon" run "$kind.pte" --input x.npy --output "$kind.npz" -q && unzip -q -o "$kind.npz" out0.npy ||
        fail "$kind: does not run"
    tail -c 640 out0.npy >"$kind.once"
    cat "$kind.once" "$kind.once" >"$kind.expected"
    "$nucleon" codegen "$kind.pte" -o "$kind" --name model -q || fail "$kind: no code"
    ${CC:-cc} -std=c11 -O1 -Wall -Wextra -Werror -I"$kind" -I"$root/include" "$root/test/e2e/codegen_main.c" \
        "$kind/model.c" "$kind/model_data.c" "$build/src/device/runtime/libnuc_runtime.a" \
        "$build/src/device/kernels/libnuc_kernels.a" "$build/src/device/npusim/libNeutronDriver.a" \
        "$build/src/device/base/libnuc_base.a" -lm -lpthread -o "$kind.exe" || fail "$kind: the code does not build"
    "./$kind.exe" 20 <twice.bin >"$kind.got" || fail "$kind: the code does not run"
    check "$kind: code and program differ" cmp "$kind.expected" "$kind.got"
    "./$kind.exe" <twice.bin >"$kind.got" || fail "$kind: the code does not run"
    cmp -s "$kind.expected" "$kind.got" && fail "$kind: remembers nothing"
}
build=$3
codegen mixed
codegen greedy --placement greedy
codegen float --no-quantize --target cortex-m33
check "two states" grep -q "^#define MODEL_STATES 2$" float/model.h
check "a state that begins with zeros" grep -q "memset(memory1" float/model.c
check "a state that begins with other values" grep -q "memcpy(memory1" float/model.c

# ---- an image: its samples are one sequence, whatever it runs before to count ----

FIRMWARE_BUILD=$work/build
NUCLEON=$nucleon
export FIRMWARE_BUILD NUCLEON
# board SUFFIX INPUT GENERATED: an image of the program file or of its C, and what it makes of the samples.
board() {
    GENERATED=$3 sh "$root/tools/firmware.sh" mixed.pte >built || fail "image$1: $(cat built)"
    sh "$root/tools/firmware_run.sh" "build/firmware/mixed$1.elf" "$2" board.bin >ran || fail "image$1: $(cat ran)"
    check "image$1: board and host differ" cmp mixed.once board.bin
}
if command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null; then
    board "" x.npy OFF
    board _generated x.bin ON
fi

[ $failures -eq 0 ] && echo "states: $passes cases are good"
exit $((failures != 0))

#!/bin/sh
# states.sh NUCLEON SOURCE_ROOT BUILD: a program that remembers, in what is made of it and said of it.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"

# 20 samples of 8 values, one sequence; and these as sequences of 4 samples, in each way that data sets may have them.
/usr/bin/python3 - <<'PYTHON' || fail "no sequence"
import array, zipfile
def npy(descr, shape, elements):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode()
    return b"\x93NUMPY\x01\x00v\x00" + b"%-117s\n" % header + elements
def npz(name, **arrays):
    with zipfile.ZipFile(name, "w") as out:
        for array, content in arrays.items():
            out.writestr(array + ".npy", npy(*content))
values = array.array("f", [((i * 37) % 41 - 20) / 16 for i in range(160)]).tobytes()
marks = bytes(i % 4 == 0 for i in range(20))
open("x.npy", "wb").write(npy("<f4", (20, 8), values))
open("x.bin", "wb").write(values)
flat, steps, apart = ("<f4", (20, 8), values), ("<f4", (5, 4, 8), values), ("<f4", (5, 4, 1, 8), values)
open("long.npy", "wb").write(npy("<f4", (300, 8), array.array("f", [((i * i * 37 + i) % 401 - 160) / 160 for i in range(2400)]).tobytes()))
npz("steps.npz", x=steps)
npz("apart.npz", x=apart)
npz("marks.npz", x=flat, reset=("|b1", (20,), marks))
npz("step_labels.npz", x=steps, label=("|u1", (5, 4), bytes(i % 8 for i in range(20))))
npz("sequence_labels.npz", x=flat, reset=("|b1", (20,), marks), label=("|u1", (5,), bytes(range(5))))
npz("unequal.npz", x=flat, reset=("|u1", (20,), bytes(i in (0, 3, 10) for i in range(20))))
npz("turned.npz", x=("<f4", (4, 5, 8), values), label=("|u1", (5, 4), bytes(20)))
npz("twice.npz", x=steps, reset=("|b1", (20,), marks))
npz("short.npz", x=flat, reset=("|b1", (19,), marks[1:]))
npz("three.npz", x=flat, reset=("|u1", (20,), bytes([1, 0, 3]) + bytes(17)))
npz("floats.npz", x=flat, reset=("<f4", (20,), bytes(80)))
npz("last.npz", x=("<f4", (5, 8, 4), values))
npz("ragged.npz", x=("|O", (2,), bytes(16)))
npz("every.npz", x=flat, reset=("|b1", (20,), bytes([1] * 20)))
PYTHON
"$nucleon" compile "$root/test/e2e/states.pt2" --calibration x.npy -o states.pte -q || fail "is not compiled"

# ---- data sets of several sequences: each begins with the initial values ----

# prints NPZ: what the program makes of it, one element after the other.
prints() {
    "$nucleon" run states.pte --input "$1" --output outputs.npz -q && unzip -q -o outputs.npz out0.npy &&
        tail -c 640 out0.npy || fail "$1: does not run"
}
for k in 0 1 2 3 4; do
    # One sequence by itself.
    dd if=x.npy bs=128 count=1 of=one.npy 2>/dev/null && sed -i 's/(20, 8)/(4, 8) /' one.npy
    dd if=x.bin bs=128 skip=$k count=1 2>/dev/null >>one.npy
    prints one.npy | tail -c 128 >>alone
done
for data in steps apart marks; do
    prints $data.npz >got
    check "$data: each sequence begins anew" cmp alone got
    "$nucleon" compile "$root/test/e2e/states.pt2" --calibration $data.npz -o $data.pte -q || fail "$data: calibration"
    check "$data: calibration" cmp steps.pte $data.pte
done
prints steps.npz >/dev/null
check "outputs have the axes of the inputs" grep -aq "(5,4,1,8)" out0.npy
check "one sequence is another data set" [ "$(cmp steps.pte states.pte >/dev/null && echo equal)" != equal ]
for data in step_labels sequence_labels unequal; do
    "$nucleon" evaluate states.pte --dataset $data.npz --reference "$root/test/e2e/states.pt2" >$data.out 2>&1 ||
        fail "evaluate $data"
done
check "steps of equal sequences" grep -q "^  4  *[0-9.]* dB$" step_labels.out
check "decisions at the end" grep -q "^at the last steps of the 5 sequences:" step_labels.out
check "labels of sequences" grep -q "^  program accuracy .* of 5)$" sequence_labels.out
check "labels of their steps" grep -q "^program accuracy .* of 20)$" sequence_labels.out
check "sequences of unequal length" grep -q "3 sequences of 3 to 10 steps" unequal.out
check "their longest" grep -q "^  8 to 10  *[0-9.]* dB$" unequal.out
"$nucleon" evaluate states.pte --dataset sequence_labels.npz --min-accuracy 99 >/dev/null 2>err
check "a gate of labels of sequences is of their ends" grep -q "accuracy of .* is [024680]*\.00 %, .* below --min-accuracy 99" err
# refused NPZ TEXT: one line that says what is wrong.
refused() {
    "$nucleon" evaluate states.pte --dataset "$1.npz" >out 2>err
    check "exit code of $1" [ $? -eq 1 ]
    check "$1: $(cat err)" grep -q -e "$2" err
    check "$1: one line" [ "$(wc -l <err)" -eq 1 ]
}
refused turned "'label' has shape \[5, 4\], and 'x' is taken for 4 sequences of 5 steps"
refused twice "leave 'reset' out, or join the sequences along axis 0"
refused short "'reset' is bool \[19\]: give a bool or an integer for each of the 20 samples"
refused three "'reset' has 3 at sample 2: give 1 where a sequence begins and else 0"
refused floats "'reset' is float32 \[20\]: give a bool or an integer"
refused last "takes samples of shape \[1, 8\] along axis 0, or sequences along axis 0 and their steps along axis 1"
refused ragged "join sequences of unequal length along axis 0 and mark in an array 'reset' where each begins"
"$nucleon" run states.pte --input every.npz --output out.npz >out 2>err
check "each sample a sequence: $(cat err)" grep -q "note: .*every sample begins a sequence" err
"$nucleon" codegen states.pte --project project --input steps.npz 2>err
check "a project of several sequences: $(cat err)" grep -q "has more than one sequence" err
"$nucleon" tune "$root/test/e2e/states.pt2" --for sqnr --calibration steps.npz >out 2>err || fail "tune: $(cat err)"

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

# ---- a running mean and a count (n += 1, mean += (relu(linear(x)) - mean) / n), which int8 would round at each step ----

"$nucleon" compile "$root/test/e2e/sums.pt2" --calibration long.npy -o sums.pte >out 2>err || fail "sums: $(cat err)"
check "a count stays in float: $(cat err)" grep -q "state 'n' stays in float: int8 loses [0-9.]* dB over 300 steps" err
"$nucleon" evaluate sums.pte --dataset long.npy --reference "$root/test/e2e/sums.pt2" --min-sqnr 30 >out 2>err ||
    fail "sums: $(cat err)"
"$nucleon" compile "$root/test/e2e/sums.pt2" --calibration long.npy --accuracy fast -o fast.pte -q || fail "sums, fast"
"$nucleon" evaluate fast.pte --dataset long.npy --reference "$root/test/e2e/sums.pt2" --min-sqnr 30 >out 2>&1
check "what this is worth" [ $? -eq 3 ]
for target in imxrt700 cortex-m33; do
    "$nucleon" explain "$root/test/e2e/sums.pt2" --calibration long.npy --target $target >out 2>err || fail "explain, float"
    check "the reason of float, $target: $(cat out)" grep -q "why .* stays in float: int8 loses [0-9.]* dB" out
    check "and no other: $(cat out)" [ -z "$(grep "which trials on samples chose" out)" ]
done

# An average that is chosen and bounded (where(first, y, clamp(mean + (y - mean) / 64))) is one.
"$nucleon" compile "$root/test/e2e/bounded_mean.pt2" --calibration long.npy -o bounded.pte >out 2>err ||
    fail "an average that is bounded: $(cat err)"
check "an average that is bounded: $(cat err)" grep -q "state 'mean' stays in float: int8 loses [0-9.]* dB over 300 steps" err
"$nucleon" evaluate bounded.pte --dataset long.npy --reference "$root/test/e2e/bounded_mean.pt2" --min-sqnr 30 >out 2>err ||
    fail "an average that is bounded: $(cat err)"

"$nucleon" inspect states.pte >out || fail "inspect"
check "an average that loses little stays int8" grep -q "^  state 'mean', 8 bytes" out

# ---- a transformer with a KV cache, written by index_copy_ at a position: labels are the outputs of eager torch ----

cache=$root/test/e2e/cache
"$nucleon" compile "$cache.pt2" --no-quantize -o cache.pte -q && "$nucleon" evaluate cache.pte --dataset "$cache.npz" \
    --reference "$cache.pt2" --min-sqnr 120 >out || fail "a cache in float"
check "eager torch" awk '$1 == "MSE" { exit !($3 < 1e-12) }' out
check "its sequences" grep -q "3 sequences of 16 steps" out
"$nucleon" compile "$cache.pt2" --calibration "$cache.npz" -o cache.pte -q && "$nucleon" evaluate cache.pte \
    --dataset "$cache.npz" --reference "$cache.pt2" --min-sqnr 32 >out 2>&1 || fail "a cache in int8: $(cat out)"

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

# Two instances that take turns give what two runs give; so do two images, of which the second one finds the states that
# the first one stored before it lost power.
/usr/bin/python3 - <<'PYTHON' || fail "no pairs"
x = open("x.bin", "rb").read()
y = x[32 * 7:] + x[:32 * 7]
rows = [data[k:k + 32] for k in range(0, len(x), 32) for data in (x, y)]
open("y.bin", "wb").write(y)
open("pairs.bin", "wb").write(b"".join(rows))
open("first.bin", "wb").write(b"".join(rows[:18]))
open("second.bin", "wb").write(b"".join(rows[18:]))
PYTHON
for kind in mixed greedy float; do
    "./$kind.exe" <x.bin >x.got && "./$kind.exe" <y.bin >y.got && "./$kind.exe" 0 2 <pairs.bin >pairs.got ||
        fail "$kind: the instances do not run"
    /usr/bin/python3 -c 'import sys
x, y = (open(name, "rb").read() for name in ("x.got", "y.got"))
for k in range(0, len(x), 32):
    sys.stdout.buffer.write(x[k:k + 32] + y[k:k + 32])' >$kind.pairs
    check "$kind: two instances" cmp $kind.pairs pairs.got
done
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
    APPLICATION=$root/test/e2e/power_loss.c sh "$root/tools/firmware.sh" mixed.pte >built || fail "power loss: $(cat built)"
    image=$(sed -n 's/^image //p' built)
    for part in first second; do
        sh "$root/tools/firmware_run.sh" "$image" $part.bin $part.out >ran || fail "power loss, $part: $(cat ran)"
        cat $part.out >>power_loss.got
    done
    check "states that were stored" [ "$(wc -c <states.bin)" -eq 32 ]
    check "power loss: what was stored goes on" cmp mixed.pairs power_loss.got
fi

[ $failures -eq 0 ] && echo "states: $passes cases are good"
exit $((failures != 0))

#!/bin/sh
# Trials of options as a user meets them: tune.sh NUCLEON SOURCE_ROOT.
# The command that is printed makes the program that is written, byte for byte; what is given is not varied; limits that
# nothing keeps end with exit code 3, wrong usage with 2, bad data with 1, each with one line and without a program.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
mkdir bin
ln -s "$nucleon" bin/nucleon
PATH=$work/bin:$PATH
cp "$digits/digits.pt2" "$digits/test.npz" .
cp "$digits/calibration.npz" samples.npz

has() { grep -q -e "$1" "$2"; }
lacks() { ! grep -q -e "$1" "$2"; }

# tuned NAME OPTION...: digits with these options, whose table is in out; best.pte and what the command makes are equal.
tuned() {
    name=$1
    shift
    rm -f best.pte
    nucleon tune digits.pt2 -o best.pte "$@" >out 2>err
    code=$?
    check "$name: exit code $code: $(head -c 300 err)" [ $code -eq 0 ]
    check "$name: one trial is the best" [ "$(grep -c '^\* [-a]' out)" -eq 1 ]
    check "$name: 80 columns" [ "$(awk 'length > 80' out | wc -l)" -eq 0 ]
    check "$name: no progress in a pipe" lacks 'tune' err
    sed -n '/^nucleon compile/,$p' out | sed 's/-o best\.pte/-o command.pte/' >command.sh
    rm -f command.pte
    sh command.sh >/dev/null 2>err
    check "$name: the command is not one: $(cat command.sh err)" [ -s command.pte ]
    check "$name: the command makes another program" cmp -s best.pte command.pte
}

# refused CODE NAME OPTION...: that exit code, one line on standard error, no program.
refused() {
    wanted=$1
    name=$2
    shift 2
    nucleon tune "$@" -o box.pte >out 2>err
    code=$?
    check "$name: exit code $code, not $wanted: $(head -c 300 err)" [ $code -eq "$wanted" ]
    check "$name: says one line" [ "$(wc -l <err)" -eq 1 ]
    check "$name: writes no program" [ ! -e box.pte ]
}

# npy FILE SAMPLES FLOAT: images of one value, the four bytes of which are given.
npy() {
    header=$(printf "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 1, 8, 8), }" "$2")
    {
        printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
        i=0
        while [ $i -lt $(($2 * 64)) ]; do
            # shellcheck disable=SC2059
            printf "$3"
            i=$((i + 1))
        done
    } >"$1"
}

# ---- goals ----

tuned sqnr --for sqnr --calibration samples.npz
check "sqnr: observers are tried" has '^[ *+] --observer minmax' out
check "sqnr: int16 where it gains most is tried" has '^[ *+] --activations mixed' out
check "sqnr: the samples are split" has 'samples: 96 calibrate, 32 others are compared' out
cp out first
cp best.pte first.pte
tuned "side by side" --for sqnr --calibration samples.npz --threads 3
sed '/^nucleon compile/,$d; s/ *[0-9.]*$//' out >c
tuned "one after the other" --for sqnr --calibration samples.npz --threads 1
sed '/^nucleon compile/,$d; s/ *[0-9.]*$//' first >a
sed '/^nucleon compile/,$d; s/ *[0-9.]*$//' out >b
check "the same table but for the seconds: $(diff a b)" cmp -s a b
check "the same table with three threads: $(diff c b)" cmp -s c b
check "the same program" cmp -s first.pte best.pte
tuned "with a data set" --for sqnr --calibration samples.npz --dataset test.npz
check "labels give an accuracy" has ' top-1 ' out
check "the data set is what is compared on" has 'samples: 128 calibrate, 360 of the data set are compared' out
tuned latency --for latency --calibration samples.npz
check "latency: dim orders are tried" has '--dim-order' out
check "latency: quantization stays" lacks '--observer' out
check "latency: int8 inputs are tried on request alone" lacks '--io' out
check "latency: the CPU's kernels are tried" has '--cpu int8' out
check "latency: the caller keeps float inputs" lacks 'for the caller' out
tuned "int8 inputs" --for latency --calibration samples.npz --vary-io
check "int8 inputs: are the best" has '^\* .*--io int8' out
check "int8 inputs: are named" has "^for the caller: inputs and outputs are int8; 'nucleon" out
tuned memory --for memory --calibration samples.npz
check "memory: the scratch is moved" has '^\* .*--plan-delegate-scratch' out
for target in imxrt700cm cortex-m33 cortex-m55; do
    tuned "memory on $target" --for memory --calibration samples.npz --target $target
    tuned "sqnr on $target" --for sqnr --calibration samples.npz --target $target
done
tuned "for the reference" --for latency --calibration samples.npz --reference-compat

# ---- what is given ----

tuned "an observer" --for sqnr --calibration samples.npz --observer mse --weights per-tensor
check "is not varied" [ "$(grep -c -e '--observer' out)" -eq 1 ]
check "is in the command" has '--observer mse' command.sh
tuned "a float boundary" --for latency --calibration samples.npz --vary-io --io float
check "stays" lacks '--io' out
cp digits.pt2 'my digits.pt2'
nucleon tune 'my digits.pt2' --for latency --calibration samples.npz --operators-not-to-delegate 'aten.relu*,conv2d' \
    --extra-flags "it's" -o best.pte >out 2>err
check "words of a shell: $(cat err)" has "^nucleon compile 'my digits.pt2'" out
sed -n '/^nucleon compile/,$p' out | sed 's/-o best\.pte/-o command.pte/' >command.sh
sh command.sh >/dev/null 2>err
check "a quoted command makes the same program: $(cat command.sh err)" cmp -s best.pte command.pte

# ---- limits ----

tuned "limits that hold" --for sqnr --calibration samples.npz --memory-budget 9300 --cycle-budget 200000
check "what exceeds them says so" has 'bytes of memory, 9,300 are allowed' out
sed -n '/^\* /{N;p;}' out >best
check "what serves them is tried" has '--plan-delegate-scratch' best
refused 3 "too many dB" digits.pt2 --for sqnr --calibration samples.npz --min-sqnr 100
check "the nearest is named" has 'the nearest: SQNR .* at least 100.00 dB' err
refused 3 "too few cycles" digits.pt2 --for latency --calibration samples.npz --cycle-budget 1
refused 3 "too few bytes" digits.pt2 --for memory --calibration samples.npz --memory-budget 1

cp "$digits/digits_unsupported.pt2" .
refused 3 "an operator on the CPU" digits_unsupported.pt2 --for latency --calibration samples.npz \
    --require-full-delegation --vary-io
check "a trial that fails is a row" has '^  --io int8  *not possible$' out
check "with its reason" has '1 of 29 operators stay on the CPU' out

# ---- JSON ----

nucleon tune digits.pt2 --for latency --calibration samples.npz --json >out 2>err
check "JSON: exit code" [ $? -eq 0 ]
check "JSON: schema" has '"schema": 1' out
check "JSON: one trial is the best" [ "$(grep -c '"best": true' out)" -eq 1 ]
check "JSON: a command" has '"command": "nucleon compile digits.pt2' out
check "JSON: a trial without its reason" has '"reason": null' out
if command -v python3 >/dev/null; then
    check "JSON: is none" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' out
fi

# ---- samples ----

npy one.npy 1 '\000\000\200\077'
tuned "one sample" --for sqnr --calibration one.npy
check "is what is compared on" has 'compared on the sample that calibrates: give others with --dataset' out
npy two.npy 2 '\000\000\200\077'
tuned "two samples" --for latency --calibration two.npy
check "are split" has 'samples: 1 calibrate, 1 others are compared' out
npy zeros.npy 4 '\000\000\000\000'
tuned "zeros" --for sqnr --calibration zeros.npy
npy huge.npy 4 '\312\362\111\161'
tuned "1e30" --for sqnr --calibration huge.npy
npy tiny.npy 4 '\140\102\242\015'
tuned "1e-30" --for sqnr --calibration tiny.npy
npy nan.npy 4 '\000\000\300\177'
refused 1 "NaN" digits.pt2 --for sqnr --calibration nan.npy
check "prints no table" [ ! -s out ]
refused 1 "NaN to compare on" digits.pt2 --for sqnr --calibration samples.npz --dataset nan.npy
check "says where" has 'nan.npy: sample 0 has a NaN for input' err
refused 1 "no samples" digits.pt2 --for sqnr --calibration none.npz
refused 1 "no data set" digits.pt2 --for sqnr --calibration samples.npz --dataset none.npz

# ---- wrong usage ----

refused 2 "no goal" digits.pt2 --calibration samples.npz
refused 2 "another goal" digits.pt2 --calibration samples.npz --for speed
refused 2 "no samples for a float model" digits.pt2 --for sqnr
refused 2 "no float program" digits.pt2 --for sqnr --calibration samples.npz --no-quantize
refused 2 "no number of dB" digits.pt2 --for sqnr --calibration samples.npz --min-sqnr many
nucleon quantize digits.pt2 --calibration samples.npz -o quantized.pt2
refused 2 "the SQNR of a quantized model" quantized.pt2 --for sqnr --calibration samples.npz
refused 1 "a model that is none" samples.npz --for sqnr --calibration samples.npz
nucleon tune quantized.pt2 --for latency -o best.pte >out 2>err
check "the latency of a quantized model: $(cat err)" [ $? -eq 0 ]
check "has no SQNR" has '^\* .*  - ' out
nucleon tune digits.pt2 --for latency --calibration samples.npz -o none/best.pte >out 2>err
check "a program nowhere" [ $? -eq 1 ]

[ $failures -eq 0 ] || exit 1
echo "$passes checks passed"

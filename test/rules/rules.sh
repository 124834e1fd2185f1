#!/bin/sh
# rules.sh NUCLEON LITERT_RULES SOURCE_ROOT [MODEL.pt2 ...]: the LiteRT models of all partitions keep to what the
# converter accepts: of the networks below examples/digits, or of MODEL.pt2 with MODEL.calib.npz next to it.
set -u
LC_ALL=C
export LC_ALL
[ $# -ge 3 ] || { echo "usage: rules.sh NUCLEON LITERT_RULES SOURCE_ROOT [MODEL.pt2 ...]" >&2; exit 2; }
nucleon=$1
rules=$2
digits=$3/examples/digits
models=$3/test/fuzz/corpus/litert
shift 3
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failures=0

partitions() { # MODEL CALIBRATION OPTIONS: the models of its partitions in $work
    rm -f "$work"/*
    "$nucleon" compile "$1" --calibration "$2" -o "$work/out.pte" --intermediates-dir "$work" $3 > "$work/log" 2>&1 || {
        echo "$1 does not compile: $(tail -1 "$work/log")"
        failures=$((failures + 1))
        return 1
    }
    [ -e "$work/tag0_pure.et.tflite" ] || [ -e "$work/tag1_pure.et.tflite" ]
}

check() { # as models
    partitions "$@" || return
    "$rules" "$work"/*_pure.et.tflite > "$work/result" && return
    echo "$1:"
    sed "s|$work/||" "$work/result"
    failures=$((failures + 1))
}

if [ $# -gt 0 ]; then
    for model; do
        check "$model" "${model%.pt2}.calib.npz" ""
    done
    echo "$# networks, $failures failed"
    exit $((failures > 0))
fi

for model in digits digits_channels_last digits_same_inputs digits_unsupported; do
    for options in "" --reference-compat "--target imxrt700cm"; do
        check "$digits/$model.pt2" "$digits/calibration.npz" "$options"
    done
done
# Violations are found: operators and element types that the converter does not take.
for model in custom float_b2s float_conv_i8 float_one_hot1; do
    if "$rules" "$models/$model"* > "$work/result"; then
        echo "$model: no violation found"
        failures=$((failures + 1))
    fi
done
exit $((failures > 0))

#!/bin/sh
# m33.sh NUCLEON REFERENCE: the int8 LiteRT models of the reference data on QEMU's Cortex-M33, with the program file and as
# generated C: output.bin bit for bit, and no more instructions, flash and memory than the bars below. 0 without QEMU.
set -u
[ $# -eq 2 ] || { echo "usage: m33.sh NUCLEON REFERENCE" >&2; exit 2; }
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "no $tool: not run"; exit 0; }
done
case $1 in /*) NUCLEON=$1 ;; *) NUCLEON=$PWD/$1 ;; esac
litert=$(cd "$2/litert" && pwd) || exit 2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export NUCLEON
failures=0

fail() {
    echo "FAIL $*"
    failures=$((failures + 1))
}

# at_most WHAT VALUE BAR
at_most() {
    echo "$1 $2, at most $3"
    [ "$2" -gt 0 ] && [ "$2" -le "$3" ] || fail "$1"
}

# check MODEL INSTRUCTIONS FLASH ARENA; the last two of the image with generated C and the program, '-': no bar.
check() {
    model=$1
    "$NUCLEON" compile "$litert/$model/model.tflite" --target cortex-m33 -o "$work/$model.pte" >"$work/log" ||
        { fail "$model is not compiled"; return; }
    for generated in OFF ON; do
        GENERATED=$generated FIRMWARE_BUILD=$work/build$generated sh "$root/tools/firmware.sh" "$work/$model.pte" \
            >"$work/built" || { fail "$model: no image"; return; }
        image=$(sed -n 's/^image //p' "$work/built")
        sh "$root/tools/firmware_run.sh" "$image" "$litert/$model/input.bin" "$work/out.bin" >"$work/ran" ||
            { fail "$model: QEMU: $(tail -n 1 "$work/ran")"; return; }
        cmp -s "$work/out.bin" "$litert/$model/output.bin" || fail "$model: outputs differ, generated C $generated"
        at_most "$model, generated C $generated: instructions" \
            "$(awk '$1 == "execution" { print $3 }' "$work/ran")" "$2"
        [ $generated = ON ] || [ "$3" = - ] || at_most "$model: flash without the program" \
            "$(sed -n 's/^flash without the program \([0-9]*\),.*/\1/p' "$work/built")" "$3"
        [ $generated = OFF ] || [ "$4" = - ] || at_most "$model: memory of generated C" \
            "$(sed -n 's/.*static data \([0-9]*\) bytes/\1/p' "$work/built")" "$4"
    done
}

check kws_dscnn 3050000 38300 17500
check nxp_cifarnet 11500000 34000 -
[ $failures -eq 0 ]

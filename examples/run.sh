#!/bin/sh
# Runs an example and prints on a page what it is worth: float model, programs of three targets, and their firmware.
#   run.sh EXAMPLE [--targets "NAME ..."] [--firmware-samples N] [--test DATA] [--stream AXIS:HOP] [--out DIR]
# EXAMPLE is a folder with EXAMPLE.pt2, calibration and test data, which are .npz files or recordings, perhaps further
# .npz files, or simulate.py that makes the data, and measure.py where accuracy is not the measure; front_end.json,
# decision.json and classes.txt are for the options of these names. DATA is tested with in place of its own. Where it has
# application.c, that is the firmware, with generated C; else firmware/runner. QEMU runs all samples, or the first N.
# Results stay in DIR (out/EXAMPLE): programs, outputs, images' output, and
# figures.txt, the figures one by one. An installed copy, without the sources, takes the installed nucleon, leaves out the
# firmware and writes to out/EXAMPLE of the working folder.
set -eu
usage='usage: run.sh EXAMPLE [--targets "NAME ..."] [--firmware-samples N] [--test DATA] [--stream AXIS:HOP] [--out DIR]'
[ $# -ge 1 ] && [ -d "$1" ] || { echo "$usage" >&2; exit 2; }
example=$(cd "$1" && pwd)
name=$(basename "$example")
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
targets='imxrt700 imxrt700cm cortex-m33'
samples=all
test=
stream=
has_sources=
[ ! -f "$root/tools/firmware.sh" ] || has_sources=1
out=${has_sources:+$root/}out/$name
shift
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || { echo "$usage" >&2; exit 2; }
    case $1 in
    --targets) targets=$2 ;;
    --firmware-samples) samples=$2 ;;
    --test) test=$2 ;;
    --stream) stream=$2 ;;
    --out) out=$2 ;;
    *) echo "$usage" >&2; exit 2 ;;
    esac
    shift 2
done
case $samples in
all) ;;
0 | *[!0-9]*) echo "run.sh: --firmware-samples $samples: give a number from 1 on, or all" >&2; exit 2 ;;
esac
[ ! "$test" ] || [ -e "$test" ] || { echo "run.sh: --test $test: is not there: give an .npz or .wav file, or a folder of recordings" >&2; exit 2; }
case $test in '' | /*) ;; *) test=$PWD/$test ;; esac
python=/usr/bin/python3 # Debian's, which Debian's packages are for
[ "$has_sources" ] || NUCLEON=${NUCLEON:-$(command -v nucleon)} ||
    { echo "run.sh: nucleon is not installed: put it on PATH, or name it with NUCLEON=FILE" >&2; exit 1; }
NUCLEON=${NUCLEON:-$root/build/release/nucleon}
case $NUCLEON in /*) ;; *) NUCLEON=$PWD/$NUCLEON ;; esac
PYTHONDONTWRITEBYTECODE=1
export NUCLEON PYTHONDONTWRITEBYTECODE
complete=$($python -c 'import numpy; print(1)' 2>/dev/null || :)
for tool in "$NUCLEON" ${has_sources:+arm-none-eabi-gcc qemu-system-arm cmake ninja}; do
    command -v "$tool" >/dev/null || complete=
done
[ "$complete" ] || [ "$has_sources" ] ||
    { echo "run.sh: this takes $NUCLEON and python3-numpy: install what is missing" >&2; exit 1; }
[ "$complete" ] || make --no-print-directory -C "$root" example-tools
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$out"

# run COMMAND...: its words are shown when it fails.
run() {
    "$@" >log 2>&1 || { cat log >&2; echo "run.sh: '$*' failed" >&2; exit 1; }
}

# outputs PROGRAM: of every data set but the calibration's.
outputs() {
    run "$NUCLEON" run "$1.pte" --input "$TEST" --output "$1.test.npz"
    for data in "$DATA"/*.npz; do
        case $(basename "$data") in calibration.npz | test.npz | '*.npz') continue ;; esac
        run "$NUCLEON" run "$1.pte" --input "$data" --output "$1.$(basename "$data")"
    done
}

DATA=$example
if [ -f "$example/simulate.py" ]; then
    DATA=$out/data
    run $python "$example/simulate.py" "$DATA"
fi
# The data of that name: arrays, recordings, a recording.
data() {
    for kind in .npz .wav .csv; do [ ! -f "$DATA/$1$kind" ] || { echo "$DATA/$1$kind"; return; }; done
    echo "$DATA/$1"
}
calibration=$(data calibration)
TEST=${test:-$(data test)}
export DATA TEST
# A threshold that is a quantile is one of the float program, too.
threshold=
! grep -q quantile "$example/decision.json" 2>/dev/null || threshold=$calibration
set --
front_end=$example/front_end.json
[ -f "$front_end" ] || front_end=
[ ! "$front_end" ] || set -- "$@" --front-end "$front_end"
[ ! -f "$example/decision.json" ] || set -- "$@" --decision "$example/decision.json"
[ ! -f "$example/classes.txt" ] || set -- "$@" --classes "$example/classes.txt"
[ ! "$stream" ] || set -- "$@" --stream "$stream"
"$NUCLEON" compile "$example/$name.pt2" --no-quantize ${threshold:+--calibration "$threshold"} -o float.pte --json \
    "$@" >float.json
[ ! -f "$example/measure.py" ] || outputs float
[ ! -f "$example/measure.py" ] || [ ! -f "$example/decision.json" ] ||
    "$NUCLEON" evaluate float.pte --dataset "$TEST" --json >float.evaluate.json
$python "$here/measure.py" input "$example" "$samples"
for target in $targets; do
    "$NUCLEON" compile "$example/$name.pt2" --calibration "$calibration" --target "$target" \
        -o "$target.pte" --json "$@" >"$target.json"
    outputs "$target"
    [ ! -f "$example/measure.py" ] || [ ! -f "$example/decision.json" ] ||
        "$NUCLEON" evaluate "$target.pte" --dataset "$TEST" --json >"$target.evaluate.json"
    [ "$has_sources" ] || continue
    application=
    input=input.npy
    if [ -f "$example/application.c" ]; then
        application=$example/application.c
        $python "$here/measure.py" header "$example" "$target" >example.h
        input=input.bin
    fi
    APPLICATION=$application sh "$root/tools/firmware.sh" "$target.pte" >"$target.image"
    cp "$(sed -n 's/^image //p' "$target.image")" "$target.elf"
done
[ "$has_sources" ] || echo "without nucleon's sources: no firmware"
for target in ${has_sources:+$targets}; do
    rm -f "$target.bin" # of an earlier run
    sh "$root/tools/firmware_run.sh" "$target.elf" $input "$target.bin" >"$target.log" 2>&1 &
done
# Where accuracy is the measure, evaluate says what the float model's is.
[ -f "$example/measure.py" ] || "$NUCLEON" evaluate "${targets%% *}.pte" --dataset "$TEST" \
    --reference "$example/$name.pt2" ${front_end:+--front-end "$front_end"} --json >evaluate.json
wait
# shellcheck disable=SC2086
$python "$here/measure.py" page "$example" $targets

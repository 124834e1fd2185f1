#!/bin/sh
# bench.sh PROGRAM.pte[=SAMPLES] ...: instructions of each program and operator on QEMU's Cortex-M33, flash without the
# program and memory. SAMPLES: an input file for firmware_run.sh. With NUCLEON_CMSIS_NN_DIR in the environment a second
# column has CMSIS-NN's kernels, and outputs are compared. NUCLEON: the host's nucleon.
[ $# -ge 1 ] || { echo "usage: bench.sh PROGRAM.pte[=SAMPLES] ..." >&2; exit 2; }
# shellcheck source=bench/m33/begin.sh
. "$(dirname "$0")/begin.sh"
cmsis=${NUCLEON_CMSIS_NN_DIR:-}

# measure NAME PROGRAM SAMPLES: lines "operator N NAME instructions M" in $work/NAME.txt, outputs in NAME.bin.
measure() {
    FIRMWARE_BUILD=$work/$1 sh "$root/tools/firmware.sh" "$2" >"$work/$1.built"
    image=$(sed -n 's/^image //p' "$work/$1.built")
    if [ -n "$3" ]; then
        sh "$root/tools/firmware_run.sh" "$image" "$3" "$work/$1.bin" >"$work/$1.txt"
    else
        sh "$root/tools/firmware_run.sh" "$image" >"$work/$1.txt"
        grep '^output' "$work/$1.txt" >"$work/$1.bin"
    fi
}

for argument in "$@"; do
    program=${argument%%=*}
    samples=
    case $argument in *=*) samples=${argument#*=} ;; esac
    NUCLEON_CMSIS_NN_DIR= measure own "$program" "$samples"
    echo "$(basename "$program"): $(grep '^flash' "$work/own.built"); $(grep '^memory' "$work/own.txt")"
    if [ -n "$cmsis" ]; then
        NUCLEON_CMSIS_NN_DIR=$cmsis measure cmsis "$program" "$samples"
        cmp -s "$work/own.bin" "$work/cmsis.bin" || { echo "bench.sh: $program: CMSIS-NN gives other bytes" >&2; exit 1; }
    else
        : >"$work/cmsis.txt"
    fi
    awk 'function line(what, own, other) {
             printf "%12d", own
             if (other != "") printf " %12d %6.2f", other, other / own
             printf "  %s\n", what
         }
         FILENAME == ARGV[1] { if ($1 == "operator") cmsis[$2] = $5; if ($1 == "execution") whole = $3; next }
         $1 == "operator" { line($2 " " $3, $5, cmsis[$2]) }
         $1 == "execution" { line("execution", $3, whole) }' "$work/cmsis.txt" "$work/own.txt"
done

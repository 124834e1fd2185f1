#!/bin/sh
# strips.sh [-p POINTS] MODEL=BUDGET ...: what strips of rows cost on QEMU's Cortex-M33, as the compiler estimates it and
# counted, in percent of the program without them. A model is a .tflite or a quantized .pt2. Exit code 1 when an estimate
# is more than POINTS percentage points off (5), when outputs differ, or when no strips are needed. NUCLEON: the host's
# nucleon.
# shellcheck source=bench/m33/begin.sh
. "$(dirname "$0")/begin.sh"
points=5
while getopts p: option; do
    case $option in
    p) points=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n '2s/^# /usage: /p' "$0" >&2; exit 2; }
NUCLEON=${NUCLEON:-$root/build/release/nucleon}
export NUCLEON
code=0

# measure NAME OPTION...: compiles $model; its log in NAME.log, the count in NAME.count, outputs in NAME.out
measure() {
    name=$1
    shift
    "$NUCLEON" compile "$model" --target cortex-m33 --io int8 "$@" -o "$work/program.pte" >"$work/$name.log" ||
        { cat "$work/$name.log" >&2; exit 1; }
    FIRMWARE_BUILD=$work/firmware sh "$root/tools/firmware.sh" "$work/program.pte" >"$work/built"
    sh "$root/tools/firmware_run.sh" "$(sed -n 's/^image //p' "$work/built")" >"$work/ran"
    awk '$1 == "execution" { print $3 }' "$work/ran" >"$work/$name.count"
    sed -n 's/^memory: .*state \([0-9]*\).*/\1/p' "$work/ran" >"$work/$name.state"
    grep '^output' "$work/ran" >"$work/$name.out"
}

arena() { sed -n 's/^  memory .*arena \([0-9,]*\).*/\1/p' "$work/$1.log" | tr -d ,; }

printf '%-16s %9s %9s %7s %12s %12s %10s %10s %7s\n' model arena plain strips instructions plain estimated counted state
for argument in "$@"; do
    model=${argument%=*}
    measure plain
    measure strips --memory-budget "${argument##*=}"
    name=$(basename "$model" | sed 's/\..*//')
    cmp -s "$work/plain.out" "$work/strips.out" || { echo "strips.sh: $name: outputs differ" >&2; code=1; }
    strips=$(sed -n 's/^  strips  *\([0-9]*\) in.*/\1/p' "$work/strips.log")
    [ -n "$strips" ] || { echo "strips.sh: $name: no strips are needed" >&2; code=1; continue; }
    estimated=$(sed -n 's/^  strips .* \([0-9.]*\) % more cycles.*/\1/p' "$work/strips.log")
    awk -v name="$name" -v arena="$(arena strips)" -v plain_arena="$(arena plain)" -v strips="$strips" \
        -v count="$(cat "$work/strips.count")" -v plain="$(cat "$work/plain.count")" -v estimated="$estimated" \
        -v state="$(cat "$work/strips.state")" -v points="$points" 'BEGIN {
            counted = 100 * (count - plain) / plain
            printf "%-16s %9d %9d %7d %12d %12d %8.1f %% %8.1f %% %7d\n", name, arena, plain_arena, strips, count, plain,
                   estimated, counted, state
            off = counted - estimated
            exit off > points || off < -points }' ||
        { echo "strips.sh: $name: the estimate is off by more than $points points" >&2; code=1; }
done
exit $code

#!/bin/sh
# fuzz.sh BUILD RUNS|SECONDSs [TARGET...]: libFuzzer on all targets of a build of the fuzz preset, JOBS (2) at a time, from
# the inputs of the suite and what earlier runs found (BUILD/fuzz/TARGET). RUNS, a number, is executions for each target;
# with an s at the end it is seconds. Prints a table and leaves inputs that broke something in BUILD/fuzz/TARGET.broken.
# Exit code 1 when there are any.
set -u
if [ $# -lt 2 ]; then
    echo "usage: fuzz.sh BUILD RUNS|SECONDSs [TARGET...]" >&2
    exit 2
fi
build=$(cd "$1" && pwd) || exit 2
amount=$2
shift 2
bin=$build/test/fuzz
work=$build/fuzz
[ $# -gt 0 ] || set -- $(cut -d';' -f1 "$bin/targets.txt")

# fuzz_one TARGET
fuzz_one() {
    target=$1
    found=$work/$target
    broken=$work/$target.broken
    mkdir -p "$found" "$broken"
    case $target in
    compile | pt2 | calibrate | run) length=16384 memory=1024 ;;
    *) length=8192 memory=768 ;;
    esac
    case $amount in
    *s) limit="-max_total_time=${amount%s}" ;;
    *) limit="-runs=$amount" ;;
    esac
    case $target in
    pt2 | graph_text | selection | calibrate) limit="$limit -dict=$(dirname "$0")/../test/fuzz/words.dict" ;;
    esac
    inputs=$(grep "^$target;" "$bin/targets.txt" | cut -d';' -f2- | tr ';' ' ')

    "$bin/fuzz_$target" $limit -seed="${SEED:-$(date +%s)}" -max_len=$length -rss_limit_mb=$memory -timeout=20 \
        -print_final_stats=1 -use_value_profile="${VALUE_PROFILE:-0}" -artifact_prefix="$broken/" "$found" $inputs \
        >"$work/$target.log" 2>&1
    awk -v target="$target" -v broken="$(ls "$broken" | wc -l)" '
        /cov: / { for (i = 1; i < NF; i++) { if ($i == "cov:") edges = $(i + 1); if ($i == "corp:") corpus = $(i + 1) } }
        /stat::number_of_executed_units/ { runs = $2 }
        /stat::average_exec_per_sec/ { speed = $2 }
        /stat::peak_rss_mb/ { rss = $2 }
        END { printf "%-12s %12d %8d %12s %8d %6d %8d\n", target, runs, edges,
                     corpus == "" ? "-" : corpus, speed, rss, broken }' \
        "$work/$target.log" >"$work/$target.line"
}

if [ "${FUZZ_ONE:-}" ]; then
    fuzz_one "$FUZZ_ONE"
    exit 0
fi
mkdir -p "$work"
printf '%s\n' "$@" | xargs -P "${JOBS:-2}" -I{} env FUZZ_ONE={} sh "$0" "$build" "$amount"
printf '%-12s %12s %8s %12s %8s %6s %8s\n' target executions edges corpus "a second" MiB broken
total=0
failed=0
for target in "$@"; do
    cat "$work/$target.line"
    set -- $(cat "$work/$target.line")
    total=$((total + $2))
    failed=$((failed + $7))
done
echo "fuzz: $total cases, $failed failed"
[ "$failed" -eq 0 ]

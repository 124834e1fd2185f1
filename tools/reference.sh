#!/bin/sh
# reference.sh BUILD DIR: compares every stage with the reference data below DIR (test/conformance) and fails when a
# check has fewer equal cases, or fewer cases, than tools/reference.expected records, or when the cost model misses a
# printed latency (docs/cycle-model.md). Prints the summary lines.
set -u
[ $# -eq 2 ] || { echo "usage: reference.sh BUILD DIR" >&2; exit 2; }
conformance=$1/test/conformance/conformance
expected=$(dirname "$0")/reference.expected
[ -x "$conformance" ] || { echo "reference.sh: $conformance is not built" >&2; exit 2; }
[ -d "$2" ] || { echo "reference.sh: $2 is not a folder" >&2; exit 2; }
report=$(mktemp) || exit 2
trap 'rm -f "$report"' EXIT
"$conformance" "$2" >"$report"
code=$?
[ $code -le 1 ] || exit $code
if [ -d "$2/litert/converted" ]; then
    "$1/test/conformance/cycle_fit" "$2" || exit 1
fi
grep -E '^[a-z]+: equal [0-9]+ of [0-9]+' "$report"
awk 'NR == FNR { if ($1 !~ /^#/ && NF == 3) { equal[$1] = $2; total[$1] = $3 } next }
     /^[a-z]+: equal [0-9]+ of [0-9]+/ {
         name = substr($1, 1, length($1) - 1); got = $3; of = $5 + 0
         seen[name] = 1
         if (name in equal && (got < equal[name] || of < total[name])) {
             printf "%s: %d of %d, expected at least %d of %d\n", name, got, of, equal[name], total[name]
             bad = 1
         }
     }
     END {
         for (name in equal)
             if (!(name in seen)) { printf "%s: did not run\n", name; bad = 1 }
         exit bad
     }' "$expected" "$report" && exit 0
grep '^  differs' "$report"
exit 1

#!/bin/sh
# test.sh BUILD [CM33BUILD]: runs the suite of a build; with CM33BUILD, the checks of the device libraries read those.
# The last line is "N passed, N failed"; the exit code is 0 when nothing failed.
set -u
[ $# -ge 1 ] || { echo "usage: test.sh BUILD [CM33BUILD]" >&2; exit 2; }
# shellcheck source=tools/progress.sh
. "$(dirname "$0")/progress.sh"
build=$1
if [ $# -ge 2 ]; then
    device=$(cd "$2" && pwd) || exit 2
    cmake -DNUCLEON_CM33_BUILD="$device" "$build" >/dev/null || exit 2
fi
report=$(mktemp) || exit 2
trap 'rm -f "$report" "$report.code"' EXIT
# Lines such as " 3/38 Test  #3: unit.base ........   Passed    0.01 sec"
{
    ctest --test-dir "$build" -j2 --output-on-failure --no-tests=error 2>&1
    echo $? >"$report.code"
} | tee "$report" | progress test 's|^ *\([0-9]*\)/\([0-9]*\) Test .*|\1 \2|p'
code=$(cat "$report.code")
cat "$report"
awk '/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
         if (/ Passed +[0-9.]+ sec/) passed++
         else if (/\*\*\*(Skipped|Not Run \(Disabled\))/) skipped++
         else failed++
     }
     END {
         if (skipped > 0) printf "%d skipped: what they need is not there\n", skipped
         printf "%d passed, %d failed\n", passed, failed
     }' "$report"
[ $code -eq 0 ]

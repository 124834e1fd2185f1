#!/bin/sh
# ci.sh NUCLEON SOURCE_ROOT: the steps of examples/ci/nucleon.yml pass as they are written, and each fails when what it
# guards gets worse.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
command -v jq >/dev/null || { echo "FAIL jq is missing: 'make test' installs it" >&2; exit 1; }

# The commands of each step that has a name, as GitHub runs them: bash -e, the environment of the file.
awk '/^env:/ { env = 1; next }
     env && /^  [A-Z]/ { sub(/ *#.*/, ""); sub(/: */, "="); sub(/^ */, ""); print >"env"; next }
     /^[a-z]/ { env = 0 }
     /^      - / { text = 0; name = "" }
     /^      - name: / { name = $0; sub(/.*name: /, "", name); gsub(/[^A-Za-z]+/, "_", name); print name >"steps"; next }
     name != "" && /^        run: \|/ { text = 1; next }
     name != "" && /^        run: / { line = $0; sub(/^ *run: /, "", line); print line >(name ".sh"); next }
     text && /^          / { print substr($0, 11) >(name ".sh") }' "$root/examples/ci/nucleon.yml"
[ "$(tr '\n' ' ' <steps)" = "Install_nucleon Memory Latency Accuracy No_worse_than_the_report_that_was_accepted_last " ] ||
    fail "the steps are $(tr '\n' ' ' <steps)"
mkdir bin
printf '#!/bin/sh\nexec "%s" "$@"\n' "$nucleon" >bin/nucleon
chmod +x bin/nucleon
PATH=$work/bin:$PATH
set -a
# shellcheck disable=SC1091
. ./env
set +a
step() {
    bash --noprofile --norc -eo pipefail "$1.sh" >out 2>&1
}
compare=No_worse_than_the_report_that_was_accepted_last
cp "$digits/digits.pt2" model.pt2
cp "$digits/calibration.npz" "$digits/test.npz" .
nucleon report model.pt2 --calibration calibration.npz --dataset test.npz -o accepted.json -q || fail "a report"
for name in $(sed 1d steps); do
    step "$name" || fail "$name: $(tail -2 out)"
done
[ -s model.pte ] && [ -s report.json ] && [ -s report.html ] || fail "program and reports are not there"

# refuses STEP VARIABLE VALUE: a tighter limit fails with the code of a property.
refuses() {
    (export "$2=$3"; step "$1")
    code=$?
    [ $code -eq 3 ] || fail "$1 with $2=$3 ends with $code"
}
refuses Memory MEMORY 8Ki
refuses Latency CYCLES 100k
refuses Accuracy ACCURACY 99.9

# The report that was accepted was better.
cp accepted.json was.json
for member in cycles memory_bytes program_bytes; do
    jq ".summary.$member = (.summary.$member * 0.9 | floor)" was.json >accepted.json
    step $compare && fail "more $member than before are accepted"
done
jq '.summary.accuracy = .summary.accuracy + 0.006' was.json >accepted.json
step $compare && fail "a lower accuracy than before is accepted"
cp was.json accepted.json
# A model with an operator that the NPU does not have is none of this firmware's.
cp "$digits/digits_unsupported.pt2" model.pt2
step Memory && fail "a model that is partly on the CPU is accepted"
[ "$failures" -eq 0 ] && echo passed

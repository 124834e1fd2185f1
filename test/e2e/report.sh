#!/bin/sh
# nucleon report as a user meets it: report.sh NUCLEON SOURCE_ROOT.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
cp "$digits"/*.pt2 "$digits"/*.npz . || exit 2

# run CODE ARGUMENTS...: report with that exit code.
run() {
    wanted=$1
    shift
    "$nucleon" report "$@" >out 2>err
    code=$?
    [ $code -eq "$wanted" ] || fail "$*: exit code $code instead of $wanted: $(head -c 300 err)"
}

# has FILE TEXT, hasnot FILE TEXT: a line with the text.
has() {
    grep -q -F -e "$2" "$1" || fail "no '$2' in $1: $(head -c 600 "$1")"
}

hasnot() {
    ! grep -q -F -e "$2" "$1" || fail "'$2' in $1"
}

# number FILE KEY: the value of the first member of that name.
number() {
    sed "s/.*\"summary\":{\([^}]*\)}.*/\1/; s/.*\"$2\":\([^,]*\).*/\1/" "$1"
}

# is FILE KEY VALUE: a figure of the summary.
is() {
    [ "$(number "$1" "$2")" = "$3" ] || fail "$1: $2 is $(number "$1" "$2"), not $3"
}

# mistake CODE TEXT ARGUMENTS...: one line on standard error with the text, no file.
mistake() {
    wanted=$1
    text=$2
    shift 2
    rm -f no.json no.html
    run "$wanted" "$@"
    has err "$text"
    [ "$(grep -v -c '^nucleon: note' err)" -eq 1 ] || fail "$*: not one line on standard error: $(cat err)"
    [ ! -s out ] || fail "$*: prints to standard output"
    [ ! -e no.json ] && [ ! -e no.html ] || fail "$*: leaves a file"
    [ -z "$(ls -A | grep -F no.)" ] || fail "$*: leaves $(ls -A | grep -F no.)"
}

model=digits.pt2
calibrated="--calibration calibration.npz"

# ---- the data ----

run 0 $model $calibrated --dataset test.npz -o all.json
has all.json '"fixes":[{"option":"--io int8"'
has out '  placement NPU 28 of 28 operators in 1 partition'
has out '  latency   about '
has out '  memory    '
has out "  accuracy  98.9 % of 360 samples, the float model 98.9 %"
has out '  worst     '
[ "$(wc -l <out)" -le 10 ] || fail "more than 10 lines"
[ "$(awk 'length($0) > 80' out | wc -l)" -eq 0 ] || fail "lines of more than 80 columns"
run 0 $model $calibrated --quiet -o all.json
[ ! -s out ] || fail "--quiet prints"
run 0 $model $calibrated --dataset test.npz -o all.json
[ "$(wc -l <all.json)" -eq 1 ] || fail "all.json is not one line"
for member in '"schema":1,' '"command":"report",' '"nucleon":"' \
    '"invocation":"nucleon report digits.pt2 --calibration calibration.npz --dataset test.npz -o all.json"' \
    '"model":{"file":"digits.pt2","kind":"pt2","quantized":false,' '"target":{"name":"imxrt700",' '"warnings":[]' \
    '"nodes":[{"id":0,"label":"x",' '"partitions":[{"tag":"' '"instructions":[{"operator":"' \
    '"memory":[{"name":"arena","step":"instruction",' '"on_cpu":[]' '"splits":[]' '"fixes":[' \
    '"evaluation":{"samples":360,' '"compare":null}'; do
    has all.json "$member"
done
is all.json operators 28
is all.json on_npu 28
is all.json samples 360
is all.json missed null
case $(number all.json accuracy) in 0.9[89]*) ;; *) fail "the accuracy is $(number all.json accuracy)" ;; esac
case $(number all.json sqnr_db) in [34]*.*) ;; *) fail "the SQNR is $(number all.json sqnr_db)" ;; esac

# The program's figures are those of compile.
"$nucleon" compile $model $calibrated -o digits.pte --memory-map map.txt >/dev/null || fail "compile"
is all.json program_bytes "$(wc -c <digits.pte)"
has map.txt "arena: $(number all.json arena_bytes) bytes"
"$nucleon" evaluate digits.pte --dataset test.npz --reference $model --json >evaluated
has evaluated "\"accuracy\": $(number all.json accuracy | cut -c1-8)"

# The cycles are those of explain.
"$nucleon" explain $model $calibrated --json >explained
cycles=$(($(sed -n 's/.*"summary".*"npu_cycles": \([0-9]*\).*/\1/p' explained) + \
    $(sed -n 's/.*"summary".*"cpu_cycles": \([0-9]*\).*/\1/p' explained)))
is all.json cycles "$cycles"

# What is printed is what is written, which no number of threads changes.
run 0 $model $calibrated --dataset test.npz -o all.json --json
cmp -s out all.json || fail "--json prints something else than it writes"
run 0 $model $calibrated --dataset test.npz --json
mv out once
run 0 $model $calibrated --dataset test.npz --json
cmp -s out once || fail "two reports differ"
run 0 $model $calibrated --dataset test.npz --json --threads 1
sed 's/ --threads 1//' out | cmp -s - once || fail "a report of one thread differs"

# Each value has its error, and the error that is the node's own.
[ "$(grep -o '"sqnr_db":[0-9]' all.json | wc -l)" -ge 20 ] || fail "few nodes have errors"
[ "$(grep -o '"sqnr_own_db":[0-9]' all.json | wc -l)" -ge 15 ] || fail "few nodes have errors of their own"

# ---- the page ----

run 0 $model $calibrated --dataset test.npz -o all.html
grep -q '<script type="application/json" id="report">' all.html || fail "all.html has no data"
[ "$(sed -n 's/.*<script type="application\/json" id="report">\(.*\)<\/script>/\1/p' all.html | sed 's/all.html/all.json/; s/\\u003c/</g')" = \
    "$(sed 's/ --json//' all.json)" ] || fail "all.html has other data than all.json"
for outside in 'src=' '<link' '@import' 'url(' 'https:' 'fetch(' 'XMLHttpRequest' 'WebSocket' 'import('; do
    sed 's/"data:image[^"]*"//g; s/url(#[^)]*)//g' all.html | grep -v 'id="report"' | grep -q -F -e "$outside" &&
        fail "all.html may look outside: $outside"
done
has all.html "default-src 'none'"
hasnot all.html '<!--DATA-->'
hasnot all.html '<!--CSS-->'
hasnot all.html '<!--JS-->'
[ "$(wc -c <all.html)" -le 2000000 ] || fail "all.html has $(wc -c <all.html) bytes"

# A text of the model ends no element of the page.
mkdir '<' && cp $model '</script><b>.pt2'
run 0 '</script><b>.pt2' $calibrated -o odd.html
[ "$(grep -c -F '</script><b>' odd.html)" -eq 0 ] || fail "a file's name ends the data"
has odd.html '\u003c/script>\u003cb>.pt2'

# ---- what is on the CPU ----

run 0 digits_unsupported.pt2 $calibrated -o cpu.json
is cpu.json on_cpu 1
is cpu.json cpu_float 0
has cpu.json '"on_cpu":[{"node":'
has cpu.json '"rule":"there is no dilation","actual":"2 x 2","limit":"1 x 1","reason":"required is that there is no dilation'
has cpu.json '"warnings":["digits_unsupported.pt2: output '
run 0 digits_unsupported.pt2 $calibrated --target cortex-m33 -o m33.json
is m33.json partitions 0
is m33.json npu_cycles 0
has m33.json '"partitions":[],'
run 0 $model $calibrated --target cortex-m33 --memory-budget 4000 -o strips.json
case $(number strips.json strips) in 0) fail "no strips for the budget" ;; esac
is strips.json memory_budget_bytes 4000

# ---- models and what is known of them ----

run 0 $model -o made_up.json
has err 'its ranges are made up'
is made_up.json made_up_ranges true
is made_up.json sqnr_db null
is made_up.json node_samples 0
has made_up.json 'its ranges are made up'
"$nucleon" quantize $model $calibrated -o quantized.pt2 >/dev/null || fail "quantize"
run 0 quantized.pt2 --dataset test.npz -o quantized.json
has quantized.json '"quantized":true'
is quantized.json reference_accuracy null
case $(number quantized.json accuracy) in 0.9[89]*) ;; *) fail "quantized: $(number quantized.json accuracy)" ;; esac
run 0 $model --no-quantize --dataset test.npz -o float.json
is float.json on_npu 0
is float.json agreement 1.0
run 0 $model $calibrated --no-delegate -o cpu_only.json
is cpu_only.json on_npu 0

# ---- comparison ----

run 0 digits_unsupported.pt2 $calibrated --compare m33.json -o compared.json
has compared.json '"compare":{"old":{"file":"m33.json","model":"digits_unsupported.pt2","target":"cortex-m33","invocation":"nucleon report digits_unsupported.pt2'
has compared.json '"from":"cpu","to":"npu"}'
has compared.json '"faster":[{"label":"'
run 0 digits_unsupported.pt2 $calibrated --compare cpu.json -o compared.json
has compared.json '"moved":[],"faster":[],"slower":[],"better":[],"worse":[],"added":[],"removed":[]}'
run 0 $model $calibrated --compare all.html -o compared.json
has compared.json '"moved":[],"faster":[],"slower":[],"better":[],"worse":[],"added":[],"removed":[]}'
sed 's/"schema":1,/"schema":2,/' all.json >newer.json
mistake 1 'is a report of schema 2, this nucleon reads schema 1' $model $calibrated --compare newer.json -o no.json
mistake 1 'explained: is no report' $model $calibrated --compare explained -o no.json
mistake 1 'calibration.npz: is no report' $model $calibrated --compare calibration.npz -o no.json
head -c 5000 all.json >half.json
mistake 1 'half.json' $model $calibrated --compare half.json -o no.json
head -c "$(($(sed '/id="report"/q' all.html | wc -c) / 2))" all.html >half.html
mistake 1 'half.html' $model $calibrated --compare half.html -o no.json
sed 's/"label":"/"label":"another /g' all.json >other.json
mistake 1 'is the report of another model' $model $calibrated --compare other.json -o no.json
sed 's/"cycles":[0-9]*/"cycles":"many"/g' all.json >words.json
mistake 1 'words.json' $model $calibrated --compare words.json -o no.json
printf '{"schema":1,"command":"report"}' >empty.json
mistake 1 'empty.json' $model $calibrated --compare empty.json -o no.json
head -c 101000000 /dev/zero | tr '\000' ' ' >large.json
printf '{"schema":1,"command":"report"' | cat - large.json >larger.json
mistake 1 'a report at most' $model $calibrated --compare larger.json -o no.json
rm -f large.json larger.json
mistake 1 'missing.json' $model $calibrated --compare missing.json -o no.json

# ---- properties that are demanded ----

run 3 digits_unsupported.pt2 $calibrated --require-full-delegation -o missed.json
has err 'all must be delegated'
has missed.json '"missed":"digits_unsupported.pt2: 1 of'
run 3 $model $calibrated --memory-budget 1000 -o missed.json
has missed.json 'the budget is 10'
run 3 $model $calibrated --dataset test.npz --min-accuracy 99.9 -o missed.html
has err 'accuracy'
has missed.html 'accuracy'

# ---- mistakes ----

mistake 2 '-o FILE.html is missing' $model $calibrated
mistake 2 'a report is a page, .html, or an object, .json' $model $calibrated -o no.pdf
mistake 2 'give --calibration DATA' $model --dataset test.npz -o no.json
mistake 2 '--min-accuracy is about samples with labels' $model $calibrated --min-accuracy 90 -o no.json
mistake 1 'no.npz' $model $calibrated --dataset no.npz -o no.json
mistake 1 'neither a torch.export archive' calibration.npz $calibrated -o no.json
mistake 1 'folder/no.html' $model $calibrated -o folder/no.html
run 0 $model $calibrated --dataset calibration.npz -o unlabelled.json
is unlabelled.json accuracy null
is unlabelled.json agreement 1.0
has unlabelled.json '"confusions":[]'

[ $failures -eq 0 ] || { echo "$failures failures" >&2; exit 1; }

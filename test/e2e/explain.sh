#!/bin/sh
# explain, ops and targets as a user meets them, and the documentation made of them: explain.sh NUCLEON SOURCE_ROOT.
set -u
LC_ALL=C
export LC_ALL
[ $# -eq 2 ] || { echo "usage: explain.sh NUCLEON SOURCE_ROOT" >&2; exit 2; }
case $1 in /*) nucleon=$1 ;; *) nucleon=$PWD/$1 ;; esac
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$2" || exit 2
model=examples/digits/digits_unsupported.pt2
samples=examples/digits/calibration.npz
failures=0

fail() {
    echo "FAIL $*" >&2
    failures=$((failures + 1))
}

# run CODE COMMAND...: that exit code; standard output in $work/out, standard error in $work/err.
run() {
    wanted=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ $code -eq "$wanted" ] || fail "$*: exit code $code instead of $wanted: $(head -c 300 "$work/err")"
}

# has FILE TEXT: a line with the text.
has() {
    grep -q -F -e "$2" "$work/$1" || fail "no '$2' in the last $1: $(head -c 600 "$work/$1")"
}

# The generated page is what the tables say now.
run 0 "$nucleon" ops --markdown
cmp -s "$work/out" docs/supported-ops.md ||
    fail "docs/supported-ops.md is stale: write it anew with 'nucleon ops --markdown > docs/supported-ops.md'"
for flavor in sdk-3.2 sdk-3.1; do
    run 0 "$nucleon" ops --converter-flavor $flavor
    has out "rules of $flavor"
    has out "aten.convolution.default"
done
run 0 "$nucleon" targets
has out imxrt700
has out SDK_25_12

# The example of docs/explain.md: two operators, each with rule, value, limit and fix.
run 0 "$nucleon" explain $model --calibration $samples
awk '/^```$/ { if (inside) exit; if (start) inside = 1; next } /^\$ nucleon explain/ { inside = 1; next }
     inside { print }' docs/explain.md >"$work/shown"
cmp -s "$work/out" "$work/shown" ||
    fail "docs/explain.md shows another output: $(diff "$work/shown" "$work/out" | head -5)"
[ "$(awk 'length($0) > 120' "$work/out" | wc -l)" -eq 0 ] || fail "lines of more than 120 columns"
[ "$(grep -c '^CPU ' "$work/out")" -eq 2 ] || fail "not two operators on the CPU"
has out "use hardswish or relu instead"
has out "use dilation=1"
grep -q "made-up" "$work/out" && fail "ranges of samples are called made up"

# Without samples the same operators, and a word about it.
run 0 "$nucleon" explain $model
has out "made-up ranges"
[ "$(grep -c '^CPU ' "$work/out")" -eq 2 ] || fail "not two operators on the CPU without samples"

# JSON: the same on every run, one object a node.
run 0 "$nucleon" explain $model --json
cp "$work/out" "$work/first"
run 0 "$nucleon" explain $model --json
cmp -s "$work/out" "$work/first" || fail "JSON differs from run to run"
has out '"made_up_ranges": true'
has out '"fix": "use dilation=1"'
has out '"line": 25'

# Properties.
run 3 "$nucleon" explain $model --require-full-delegation
has err "2 of 32 operators stay on the CPU"
has err "gelu"
run 0 "$nucleon" explain examples/digits/digits.pt2 --require-full-delegation --cycle-budget 1000000
run 3 "$nucleon" explain examples/digits/digits.pt2 --cycle-budget 1000
has err "1000 are allowed"
run 2 "$nucleon" explain $model --cycle-budget many
run 3 "$nucleon" compile $model --calibration $samples --require-full-delegation -o "$work/none.pte"
has err "gelu"
[ ! -e "$work/none.pte" ] || fail "a program in spite of --require-full-delegation"
run 0 "$nucleon" compile examples/digits/digits.pt2 --calibration $samples --require-full-delegation -o "$work/all.pte"

# Flavors and names.
run 0 "$nucleon" explain examples/digits/digits.pt2 --converter-flavor SDK_25_09
has err "sdk-3.1"
has out "pad channels 10 to 16"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "an alias is reported more than once"
run 0 "$nucleon" compile examples/digits/digits.pt2 --calibration $samples -o "$work/two.pte"
nodes=$(sed -n 's/^ *NPU *[0-9]* of \([0-9]*\) nodes.*/\1/p' "$work/out")
run 0 "$nucleon" compile examples/digits/digits.pt2 --calibration $samples --converter-flavor sdk-3.1 -o "$work/one.pte"
# There the weight of the linear layer is permuted in the layer's cluster: no quantize and dequantize between the two.
has out "of $((nodes - 2)) nodes in 1 partition"
run 0 "$nucleon" run "$work/one.pte" --input examples/digits/test.npz --output "$work/one.npz"
run 2 "$nucleon" explain $model --converter-flavor SDK_24_12
has err "sdk-3.2, sdk-3.1"
run 2 "$nucleon" explain $model --target imx95
has err imxrt700
run 0 "$nucleon" explain $model --operators-not-to-delegate aten::add,aten_conv*_12
[ "$(grep -c '^CPU ' "$work/out")" -eq 5 ] || fail "two additions and a convolution by name"
run 2 "$nucleon" explain $model --operators-not-to-delegate aten.conv2d
has err "aten.convolution.default"
run 1 "$nucleon" explain docs/explain.md

[ $failures -eq 0 ] || exit 1
echo "explain: all checks passed"

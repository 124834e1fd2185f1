#!/bin/sh
# explain, ops and targets as a user meets them, and the documentation made of them: explain.sh NUCLEON SOURCE_ROOT.
# With a third argument, --update, the documentation is written anew instead.
# shellcheck disable=SC2086 # $fast is several words
set -u
LC_ALL=C
export LC_ALL
[ $# -eq 2 ] || [ "$3" = --update ] || { echo "usage: explain.sh NUCLEON SOURCE_ROOT [--update]" >&2; exit 2; }
case $1 in /*) nucleon=$1 ;; *) nucleon=$PWD/$1 ;; esac
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$2" || exit 2
model=examples/digits/digits_unsupported.pt2
digits=examples/digits/digits.pt2
samples=examples/digits/calibration.npz
fast="--calibration $samples --accuracy fast" # where the operators count, not the scales
failures=0

if [ $# -eq 3 ]; then
    "$nucleon" ops --markdown >"$work/ops" && "$nucleon" explain $model --calibration $samples >"$work/example" &&
        awk -v example="$work/example" '/^```$/ { inside = 0 } !inside { print }
            /^\$ nucleon explain/ { inside = 1; while ((getline line <example) > 0) print line }' \
            docs/explain.md >"$work/page" && cp "$work/ops" docs/supported-ops.md && cp "$work/page" docs/explain.md
    exit
fi

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

# narrow: the last output fits a terminal.
narrow() {
    [ "$(awk 'length($0) > 80' "$work/out" | wc -l)" -eq 0 ] || fail "lines of more than 80 columns"
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
# One operator: its title and formula, whichever form its name has, and several overloads of one name.
for name in aten.mish.default aten.mish mish; do
    run 0 "$nucleon" ops $name
    has out "in the Edge dialect: self tanh(log1p(exp(self)))"
    has out "    self * tanh(log1p(exp(self)))"
done
run 0 "$nucleon" ops trapezoid
narrow
has out aten.trapezoid.dx
has out "    x = real(y);"
has out "as a model has it: sum of the means of neighbours, times their distance"
run 0 "$nucleon" ops aten.isin.Scalar_Tensor
has out aten.isin.Tensor_Tensor
run 0 "$nucleon" ops aten.leaky_relu --converter-flavor sdk-3.1
has out "rules of sdk-3.1"
run 2 "$nucleon" ops mihs
has err "no operator is named 'mihs' (did you mean 'aten.mish.default'?): 'nucleon ops' lists them"
run 2 "$nucleon" ops mish --markdown
has err "leave 'mish' out"
run 0 "$nucleon" ops softmax --target mcxn947
has out "  runs on: int8, float"
run 0 "$nucleon" ops softmax --target cortex-m33
has out "  runs on: int8, float"
run 0 "$nucleon" ops --target cortex-m33
has out "cortex-m33 has no NPU."
! grep -q " NPU, " "$work/out" || fail "an operator of a target without an NPU runs on one"
run 0 "$nucleon" targets
has out imxrt700
has out "  NPU N1-16: 4 pipelines of 4 multiply-accumulates, 150 MHz: 2.4 G per second"
has out "  flash       2097152 bytes, read by the NPU"
has out SDK_25_12

# The example of docs/explain.md: an operator with its reason and a fix.
run 0 "$nucleon" explain $model --calibration $samples
awk '/^```$/ { if (inside) exit; if (start) inside = 1; next } /^\$ nucleon explain/ { inside = 1; next }
     inside { print }' docs/explain.md >"$work/shown"
cmp -s "$work/out" "$work/shown" ||
    fail "docs/explain.md shows another output, 'sh test/e2e/explain.sh NUCLEON . --update' writes it anew:" \
        "$(diff "$work/shown" "$work/out" | head -5)"
narrow
has out "       why      "
has out "       fix      "
grep -q "made-up" "$work/out" && fail "ranges of samples are called made up"

# Without samples the same operators, and a word about it.
grep '^CPU    aten' "$work/out" >"$work/shown"
run 0 "$nucleon" explain $model
has out "made-up ranges"
narrow
grep '^CPU    aten' "$work/out" | cmp -s - "$work/shown" || fail "other operators on the CPU without samples"

# An NPU with fewer kernels.
run 0 "$nucleon" explain $digits $fast --target mcxn947
has out "target mcxn947, rules of sdk-3.2"
has out " at 150 MHz"
has out "       why      the NPU has no softmax; computed on the CPU in int8"
run 2 "$nucleon" compile $digits $fast --target mcxn547 --fetch-constants-to-sram -o "$work/no.pte"
has err "--fetch-constants-to-sram: the NPU of mcxn547 reads weights in flash where they are: leave it out"

# One operator of the model is a row, what separates partitions is named; every node has a row with --all.
run 0 "$nucleon" explain $digits --placement greedy --operators-not-to-delegate aten::add
narrow
[ "$(grep -c '^CPU    aten' "$work/out")" -eq 2 ] || fail "not two additions on the CPU"
[ "$(grep -c '       fix      ' "$work/out")" -eq 1 ] || fail "one reason is given several times"
has out "separates the 3 partitions"
has out "and 1 more like it: split by aten.add at train.py:14 (blocks.0)"
has out "operators        stem .. blocks.0.c3"
run 0 "$nucleon" explain $digits --operators-not-to-delegate aten::add --all
narrow
has out "       aten.add.Tensor aten_add_tensor_1"
has out "       label    blocks.2/add"
has out "       label    x (int8)"
[ "$(grep -c '       fix      ' "$work/out")" -ge 2 ] || fail "not every row has its reason"

# A LiteRT model says nothing of modules: tensors stand in their place.
run 0 "$nucleon" explain test/fuzz/corpus/litert/conv2d.tflite
narrow
run 0 "$nucleon" explain test/fuzz/corpus/litert/conv2d.tflite --all
has out "PADV2              quantized_..ult_padded"

# The rows of the text are all cycles of the inference.
for target in imxrt700 imxrt700cm cortex-m33; do
    run 0 "$nucleon" quantize $model $fast --target $target -o "$work/quantized.pt2"
    for all in '' --all; do
        run 0 "$nucleon" explain "$work/quantized.pt2" --target $target $all
        narrow
        rows=$(awk '$NF ~ /^[0-9]+%$/ { gsub(",", "", $(NF - 1)); sum += $(NF - 1) } END { print sum }' "$work/out")
        whole=$(sed -n 's/^about \([0-9,]*\) cycles per inference.*/\1/p' "$work/out" | tr -d ,)
        [ "$rows" = "$whole" ] || fail "rows for $target $all have $rows cycles of $whole"
    done
done

# What an option is said to lead to is what it leads to.
cycles_of() {
    "$nucleon" explain "$@" | sed -n 's/^about \([0-9,]*\) cycles per inference.*/\1/p'
}
run 0 "$nucleon" explain $digits --operators-not-to-delegate aten::add
[ "$(sed -n 's/^without --operators-not-to-delegate *\([0-9,]*\) cycles.*/\1/p' "$work/out")" = "$(cycles_of $digits)" ] ||
    fail "delegating all is said to take $(grep '^without' "$work/out")"
run 0 "$nucleon" explain $model
sed -n 's/^\(--[a-z-]*\) \([a-z0-9-]*\) *\([0-9,]*\) cycles.*/\1 \2 \3/p' "$work/out" >"$work/options"
while read -r option value cycles; do
    [ "$(cycles_of $model "$option" "$value")" = "$cycles" ] || fail "$option $value: not $cycles"
done <"$work/options"

# A change of the source: by name at all places, at a node by its label, nowhere, and one that is none.
run 0 "$nucleon" explain $model --rewrite pool-without-dilation
has out "29 of 29 operators on the NPU"
has err "--rewrite pool-without-dilation: 1 place"
run 0 "$nucleon" explain $model --rewrite 'pool-without-dilation@blocks.2/*'
run 2 "$nucleon" explain $model --rewrite pool-without-dilation@blocks.1
has err "there is no place for 'pool-without-dilation@blocks.1'"
run 2 "$nucleon" explain $model --rewrite pool-without-dilaton
has err "did you mean 'pool-without-dilation'?"

# A model with two operators that are not handled: both with place and remedy, and where the rest would run.
/usr/bin/python3 - $digits "$work/refused.pt2" <<'EOF'
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as digits, zipfile.ZipFile(sys.argv[2], 'w') as refused:
    for entry in digits.infolist():
        text = digits.read(entry).replace(b'ops.aten.adaptive_avg_pool2d.default', b'ops.aten.linalg_inv.default')
        refused.writestr(entry.filename, text.replace(b'ops.aten.softmax.int', b'ops.mine.softmax'))
EOF
run 1 "$nucleon" explain "$work/refused.pt2" $fast
narrow
has err "has 2 obstacles; the first is: not handled: aten.linalg_inv.default"
has out "is refused for 2 obstacles"
has out "for which no kernel is there: keep it"
has out "mine.softmax (node 'softmax', train.py:25), which is not an"
has out "of 26 operators on the NPU in "
run 1 "$nucleon" report "$work/refused.pt2" -o "$work/refused.json"
grep -q '"text":"not handled: mine.softmax' "$work/refused.json" || fail "the report has not all obstacles"

# JSON: the same on every run, one object a node.
run 0 "$nucleon" explain $model --json
cp "$work/out" "$work/first"
run 0 "$nucleon" explain $model --json
cmp -s "$work/out" "$work/first" || fail "JSON differs from run to run"
has out '"made_up_ranges": true'
has out '"line": 25'
has out '"origin_operator": "aten.conv2d.default"'
has out '"module": "blocks.1.c2"'

# Properties.
run 3 "$nucleon" explain $digits --operators-not-to-delegate add --require-full-delegation
has err "2 of "
has err "operators stay on the CPU, all must be delegated; the first is node 'blocks.0/add'"
# A label names a node, and a glob all nodes of a module.
run 0 "$nucleon" explain $digits --placement greedy --operators-not-to-delegate blocks.0/add
has out "27 of 28 operators"
run 0 "$nucleon" explain $digits --placement greedy --operators-not-to-delegate 'blocks.0/*,blocks.0.c3'
has out "24 of 28 operators"
run 2 "$nucleon" explain $digits --operators-not-to-delegate blocks.0/ad
has err "blocks.0/add"
run 0 "$nucleon" explain $digits --require-full-delegation --cycle-budget 1000000
run 3 "$nucleon" explain $digits --cycle-budget 1000
has err "1,000 are allowed"
run 2 "$nucleon" explain $model --cycle-budget many
run 3 "$nucleon" compile $digits $fast --operators-not-to-delegate add --require-full-delegation \
    -o "$work/none.pte"
has err "add.Tensor"
[ ! -e "$work/none.pte" ] || fail "a program in spite of --require-full-delegation"
run 0 "$nucleon" compile $digits $fast --require-full-delegation -o "$work/all.pte"

# Flavors and names.
run 0 "$nucleon" explain $digits --converter-flavor SDK_25_09
has err "sdk-3.1"
has out "a multiple of 8"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "an alias is reported more than once"
run 0 "$nucleon" compile $digits $fast -o "$work/two.pte"
# compile counts what explain does.
counts=$(sed -n 's/^  placement *NPU \([0-9]*\) of \([0-9]*\) operators in \([0-9]*\) partition.*/\1 \2 \3/p' "$work/out")
narrow
run 0 "$nucleon" explain $digits $fast --json
[ "$counts" = "$(sed -n 's/.*"operators": \([0-9]*\), "delegated": \([0-9]*\), "partitions": \([0-9]*\).*/\2 \1 \3/p' \
    "$work/out")" ] || fail "compile counts $counts, explain $(grep summary "$work/out")"
run 0 "$nucleon" explain $model $fast --target imxrt700cm
narrow
kinds=$(sed -n 's/^on the CPU \([0-9]*\) in int8 and \([0-9]*\) in float/\1 \2/p' "$work/out")
run 0 "$nucleon" compile $model $fast --target imxrt700cm -o "$work/cm.pte"
narrow
cpu=$(sed -n 's/^  placement .*CPU \([0-9]*\).* (\([0-9]*\) in float).*/\1 \2/p' "$work/out")
[ "$kinds" = "$((${cpu% *} - ${cpu#* })) ${cpu#* }" ] || fail "explain counts $kinds on the CPU, compile $(cat "$work/out")"
run 0 "$nucleon" compile $digits $fast --converter-flavor sdk-3.1 -o "$work/one.pte"
has out "operators in 1 partition"
run 0 "$nucleon" run "$work/one.pte" --input examples/digits/test.npz --output "$work/one.npz"
run 2 "$nucleon" explain $model --converter-flavor SDK_24_12
has err "sdk-3.2, sdk-3.1"
run 2 "$nucleon" explain $model --target imx95
has err imxrt700
run 0 "$nucleon" explain $digits --placement greedy --operators-not-to-delegate aten::add,aten_conv*_12
[ "$(grep -c '^CPU    aten' "$work/out")" -eq 3 ] || fail "two additions and a convolution by name"
run 0 "$nucleon" explain $digits --operators-not-to-delegate aten.conv2d
[ "$(grep -c '^CPU .*aten.conv2d' "$work/out")" -ge 10 ] || fail "operators as the model has them"
run 2 "$nucleon" explain $model --operators-not-to-delegate aten.conv3d
has err "aten.convolution.default"
# The estimate has the copies of weights that compile counts.
run 0 "$nucleon" compile $digits $fast --placement greedy --fetch-constants-to-sram -o "$work/flash.pte"
copies=$(sed -n 's/^  flash .* fetched in \([0-9,]*\) cycles.*/\1/p' "$work/out" | tr -d ,)
sram=$(cycles_of $digits $fast --placement greedy | tr -d ,)
flash=$(cycles_of $digits $fast --placement greedy --fetch-constants-to-sram | tr -d ,)
[ "$copies" -gt 0 ] && [ $((sram + copies)) -eq "$flash" ] || fail "$sram and $copies for weights make $flash cycles"
# One figure of an inference in every command.
for target in imxrt700 imxrt700cm cortex-m33 cortex-m0plus; do
    for file in $model $digits; do
        run 0 "$nucleon" quantize $file $fast --target $target -o "$work/quantized.pt2"
        run 0 "$nucleon" compile "$work/quantized.pt2" --target $target -o "$work/one.pte"
        compiled=$(sed -n 's/^  latency .*: \([0-9,]*\) cycles.*/\1/p' "$work/out" | tr -d ,)
        explained=$(cycles_of "$work/quantized.pt2" --target $target 2>"$work/err" | tr -d ,)
        run 0 "$nucleon" run "$work/one.pte" --input examples/digits/test.npz --profile --target $target
        profiled=$(sed -n 's/^\([0-9,]*\) cycles, .*/\1/p' "$work/out" | tr -d ,)
        [ "$compiled" -gt 0 ] && [ "$compiled" = "$explained" ] && [ "$compiled" = "$profiled" ] ||
            fail "$file for $target: compile $compiled, explain $explained, run $profiled cycles"
    done
done
run 1 "$nucleon" explain docs/explain.md

[ $failures -eq 0 ] || exit 1
echo "explain: all checks passed"

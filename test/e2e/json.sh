#!/bin/sh
# What --json prints is what docs/schema/nucleon.schema.json says: json.sh NUCLEON SOURCE_ROOT.
# Every command of the command line in success and in failure; the schema refuses what it does not describe, describes
# nothing that no output has, and docs/json.md is made of it.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
python=/usr/bin/python3 # Debian's, which Debian's packages are for
if ! $python -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null; then
    echo "FAIL Debian's python3-jsonschema is missing: 'make test' installs it" >&2
    exit 1
fi
cp "$root"/examples/digits/*.pt2 "$root"/examples/digits/*.npz . || exit 2
cp -r "$root/test/fault/images" images || exit 2
litert=$root/test/fuzz/corpus/litert
n=0
: >cases
: >codes

# ends CODE COMMAND ARGUMENTS...: the command with --json; its object is checked in the end.
ends() {
    wanted=$1
    command=$2
    shift
    n=$((n + 1))
    "$nucleon" "$@" --json >"$n.json" 2>err
    code=$?
    [ $code -eq "$wanted" ] || fail "$*: exit code $code instead of $wanted: $(head -c 300 err)"
    echo "$command:$code:$n.json" >>cases
    [ $code -eq 0 ] && kind=success || kind=failure
    echo "$command $kind" >>codes
}

# The search for an accurate quantization has members of its own, in the cases with $searched alone.
searched="digits.pt2 --calibration calibration.npz"
digits="$searched --accuracy fast"
unsupported="digits_unsupported.pt2 --calibration calibration.npz --accuracy fast"

# ---- programs ----

ends 0 compile $digits -o digits.pte --profile --timings --classes 0,1,2,3,4,5,6,7,8,9
ends 0 compile $unsupported -o unsupported.pte
ends 0 compile $searched -o fetched.pte --fetch-constants-to-sram --accuracy high
ends 0 compile $digits -o m33.pte --target cortex-m33 --io int8
ends 0 compile $digits -o strips.pte --target cortex-m33 --memory-budget 4000
ends 0 compile digits.pt2 --no-quantize -o float.pte
ends 0 compile "$root/test/e2e/states.pt2" --no-quantize -o states.pte
ends 0 compile "$root/test/e2e/stream.pt2" --no-quantize --stream 2 -o stream.pte
# Ten scores as those of ten cells.
ends 0 compile $digits --classes 0,1,2,3,4,5,6,7,8,9 -o boxes.pte \
    --decision '{"boxes":{"form":"fomo","rows":10,"columns":1,"background":false,"activation":"sigmoid"}}'
printf '{"audio": {"window": 480, "hop": 320, "coefficients": 10}}' >front_end.json
ends 0 compile "$root/test/e2e/features.pt2" --no-quantize --front-end front_end.json -o features.pte
mkdir parts
ends 0 compile $digits --intermediates-dir parts -o parts.pte
ends 3 compile $digits -o none.pte --target cortex-m33 --memory-budget 1000
ends 3 compile $unsupported -o none.pte --require-full-delegation
ends 1 compile nothing.pt2 -o none.pte
ends 2 compile digits.pt2 --dump-after edge -o none.pte
ends 2 compile --no-such-option
ends 0 compile "$root/test/fault/tiny.pt2" --calibration images --mean 0.5 --std 0.5 -o images.pte
ends 0 compile "$litert/conv.tflite" -o conv.pte
# The digits as a model that returns a dictionary.
python3 -c '
import sys, zipfile
with zipfile.ZipFile("digits.pt2") as old, zipfile.ZipFile("named.pt2", "w") as new:
    for item in old.infolist():
        data = old.read(item)
        if item.filename.endswith("model.json"):
            leaf = br"{\"type\": null, \"context\": null, \"children_spec\": []}"
            at = data.index(b"out_spec")
            changed = data[at:].replace(leaf, br"{\"type\": \"builtins.dict\", \"context\": \"[\\\"scores\\\"]\", \"children_spec\": [" + leaf + b"]}", 1)
            assert changed != data[at:]
            data = data[:at] + changed
        new.writestr(item, data)
' || fail "no model with a dictionary"
ends 0 compile named.pt2 --calibration calibration.npz --accuracy fast -o named.pte

ends 0 quantize $searched -o quantized.pt2 --accuracy high
ends 1 quantize $digits -o folder/none.pt2
ends 2 quantize digits.pt2 -o none.pt2

ends 0 tune $digits --for memory --memory-budget 100k --dataset test.npz
ends 3 tune $digits --for latency --cycle-budget 100
ends 3 tune $unsupported --for latency --require-full-delegation
ends 2 tune $digits --for speed

ends 0 convert --input "$litert/conv.tflite" --output npu.tflite
ends 1 convert --input nothing.tflite --output none.tflite

# ---- looking at them ----

ends 0 explain digits_unsupported.pt2
ends 0 explain $digits --target imxrt700cm
ends 0 explain "$root/test/e2e/states.pt2"
ends 0 explain "$root/test/e2e/stream.pt2" --stream 2
ends 0 explain "$root/examples/listen/listen.pt2" --calibration "$root/examples/listen/calibration" --front-end \
    "$root/examples/listen/front_end.json" --stream 1:320
ends 0 explain $digits --target cortex-m33 --memory-budget 4000
ends 3 explain digits_unsupported.pt2 --target cortex-m33 --memory-budget 4000
ends 3 explain $digits --cycle-budget 1000
ends 3 explain digits_unsupported.pt2 --require-full-delegation
ends 1 explain nothing.pt2
ends 1 explain "$litert/fuzzed_053574b538"

ends 0 run digits.pte --input test.npz --profile --etdump digits.etdump
ends 0 run unsupported.pte --input test.npz --profile --output results.npz
ends 0 run fetched.pte --input test.npz
ends 0 run boxes.pte --input test.npz
ends 1 run nothing.pte --input test.npz
ends 2 run digits.pte
ends 0 compile $digits -o digits.bpte --self-test 2
ends 0 run digits.bpte
ends 0 inspect digits.bpte
cat >device.log <<'LOG'
selftest 1 digits nodes 3 cases 1
node 0 0 CPU cortex_m::quantize_per_tensor.out x (int8)
node 1 1 NPU NeutronBackend
node 2 1.0 NPU CONV_2D stem + relu6
case 0
ok 0 68b6330b
bad 2 01234567 89abcdef
FAIL result node 2: 1.0 NPU CONV_2D stem + relu6
LOG
ends 3 compare-device device.log
sed '7,$d' device.log >cut.log
ends 1 compare-device cut.log
sed '7,$d' device.log >passed.log
echo PASS >>passed.log
ends 0 compare-device passed.log
ends 0 report $digits --device device.log

ends 0 evaluate digits.pte --dataset test.npz --reference digits.pt2 --quantized quantized.pt2
# Ranges by mean squared error decide one of the samples otherwise.
ends 0 compile $digits -o mse.pte --observer mse
ends 0 evaluate mse.pte --dataset test.npz --reference digits.pt2 --disagreements 9
ends 0 evaluate digits.pte --dataset test.npz
# 3 sequences of 4 steps, with a label each.
$python - <<'PYTHON' || fail "no sequences"
import array, zipfile
def npy(descr, shape, elements):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode()
    return b"\x93NUMPY\x01\x00v\x00" + b"%-117s\n" % header + elements
with zipfile.ZipFile("steps.npz", "w") as out:
    values = array.array("f", [((i * 37) % 41 - 20) / 16 for i in range(96)])
    out.writestr("x.npy", npy("<f4", (3, 4, 8), values.tobytes()))
    out.writestr("label.npy", npy("|u1", (3,), bytes(3)))
PYTHON
ends 0 evaluate states.pte --dataset steps.npz --reference "$root/test/e2e/states.pt2"
ends 0 report "$root/test/e2e/states.pt2" --calibration steps.npz --dataset steps.npz
# Labels of a regression: what the float model gives.
mkdir numbers
unzip -q test.npz -d numbers || fail "unzip"
mv numbers/float_output.npy numbers/label.npy || fail "labels"
ends 0 evaluate digits.pte --dataset numbers --reference digits.pt2 --task regress
# What programs decide, with labels of each kind.
$python - <<'PYTHON' || fail "no labels of decisions"
import zipfile
def npy(shape, elements):
    header = ("{'descr': '|u1', 'fortran_order': False, 'shape': %s, }" % (shape,)).encode()
    return b"\x93NUMPY\x01\x00v\x00" + b"%-117s\n" % header + elements
with zipfile.ZipFile("test.npz") as old, zipfile.ZipFile("decided.npz", "w") as new:
    new.writestr("input.npy", old.read("input.npy"))
    new.writestr("label_boxes.npy", npy((360, 1, 5), bytes([0, 0, 0, 1, 1]) * 360))
    new.writestr("label_points.npy", npy((360, 5, 2), bytes(3600)))
    new.writestr("label_events.npy", npy((360,), bytes([i // 2 % 9 for i in range(360)])))
    new.writestr("label_anomaly.npy", npy((360,), bytes([i % 2 for i in range(360)])))
PYTHON
ends 0 evaluate boxes.pte --dataset decided.npz --reference digits.pt2
ends 0 evaluate boxes.pte --dataset decided.npz --reference digits.pt2 --shard 1/2
ends 0 report $digits --dataset decided.npz --decision '{"anomaly":{"threshold":0.1}}'
for rule in '"classes":{"step_seconds":1}' '"keypoints":{"form":"coordinates","points":5}' '"anomaly":{"threshold":0.1}'; do
    "$nucleon" compile $digits -o decided.pte -q --decision "{$rule}" || fail "$rule"
    ends 0 run decided.pte --input test.npz
    ends 0 evaluate decided.pte --dataset decided.npz
done
# Shards, with everything that their JSON may have.
/usr/bin/python3 "$root/test/e2e/spread.py" digits.pt2 spread.pt2 &&
    "$nucleon" quantize spread.pt2 --calibration calibration.npz -o even.pt2 -q &&
    "$nucleon" compile even.pt2 -o even.pte -q || fail "equalized"
for i in 1 2; do
    ends 0 evaluate even.pte --dataset test.npz --reference digits.pt2 --quantized even.pt2 --disagreements 9 --shard $i/2
    ends 0 evaluate digits.pte --dataset numbers --reference digits.pt2 --task regress --shard $i/2
done
ends 0 merge-evaluations $((n - 3)).json $((n - 1)).json
ends 3 merge-evaluations $((n - 4)).json $((n - 2)).json --min-accuracy 100
ends 1 merge-evaluations 1.json
ends 3 evaluate digits.pte --dataset test.npz --min-accuracy 100
ends 1 evaluate digits.pte --dataset nothing.npz
ends 2 evaluate digits.pte --dataset test.npz --min-sqnr 30

for file in digits.pt2 quantized.pt2 digits.pte unsupported.pte m33.pte float.pte states.pte images.pte npu.tflite \
    "$litert"/*.tflite "$litert/float_lstm" "$root/test/fuzz/corpus/program/cpu_mean.pte"; do
    ends 0 inspect "$file"
done
ends 0 inspect named.pte
ends 0 inspect digits.pte --disassemble
ends 0 inspect npu.tflite --disassemble
ends 0 inspect digits.pte --tflite models
ends 1 inspect test.npz
ends 2 inspect digits.pte --dot

ends 0 report $searched --dataset test.npz
ends 0 report $unsupported -o old.json
ends 0 report $unsupported --target cortex-m33 --memory-budget 100k -o old.html
ends 0 report $digits --target cortex-m33 --compare old.html
ends 0 report $unsupported --compare old.html
ends 0 report $unsupported --target cortex-m33 --compare old.json
ends 0 report digits.pt2
ends 0 report "$litert/conv.tflite"
ends 0 report "$root/test/e2e/stream.pt2" --stream 2
ends 3 report $unsupported --require-full-delegation
ends 1 report nothing.pt2 -o none.html
ends 1 report "$litert/fuzzed_053574b538"
ends 2 report $digits -o none.pdf

# ---- the rest ----

ends 0 codegen digits.pte -o src
ends 1 codegen nothing.pte -o src
ends 0 codegen digits.pte --project project --input test.npz
ends 2 codegen digits.pte
ends 0 kernels digits.pte unsupported.pte -o tables.c
ends 0 kernels m33.pte -o tables.c
ends 1 kernels nothing.pte -o tables.c
ends 2 kernels digits.pte
ends 0 plan digits.pte m33.pte -o plan.c
ends 0 compile $digits -o banked.pte --memory m_ncache=48Ki,m_data=1Ki --weights-memory m_ncache
ends 0 inspect features.pte
ends 0 inspect banked.pte
ends 1 plan nothing.pte -o plan.c
ends 0 pack digits.pte -o digits.npk --program-version 2
ends 0 pack banked.pte -o banked.npk --program-version 2
ends 1 pack nothing.pte -o none.npk --program-version 2
ends 2 pack digits.pte -o none.npk
ends 0 inspect digits.npk
"$nucleon" compile $digits -o none.pte --dump-kernel-selection one.c >/dev/null || fail "a kernel selection"
ends 0 merge-kernel-selection one.c -o kernels.c
ends 1 merge-kernel-selection nothing.c -o kernels.c
ends 0 ops
ends 2 ops --converter-flavor none
ends 0 targets
ends 2 targets one
ends 0 version
ends 2 version one

# What is no command has members of every command alone.
ends 2 compilo digits.pt2

# ---- all of it ----

"$nucleon" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' >commands
[ "$(wc -l <commands)" -ge 14 ] || fail "commands are not found in 'nucleon help'"
while read -r command; do
    for kind in success failure; do
        grep -q -x "$command $kind" codes || fail "$command: no case of $kind in this test"
    done
done <commands

# shellcheck disable=SC2046
$python "$root/test/e2e/json_check.py" "$root/docs/schema/nucleon.schema.json" $(cat cases) || fail "outputs and schema"
$python "$root/tools/json_doc.py" "$root/docs/schema/nucleon.schema.json" >json.md || fail "the tables cannot be made"
cmp json.md "$root/docs/json.md" || fail "docs/json.md is not made of the schema: make it with tools/json_doc.py"

[ $failures -eq 0 ] || { echo "$failures failed" >&2; exit 1; }
echo "passed: $n outputs"

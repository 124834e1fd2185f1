#!/bin/sh
# nucleon merge-evaluations: the shards of a data set make the evaluation of the whole, to the last digit; what are no
# shards of one evaluation is refused. shards.sh NUCLEON SOURCE_ROOT
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"

# timeless FILE: without what is otherwise each time, and with each command.
timeless() {
    grep -v -e '"command": ' -e '"invocation": ' -e 'seconds": ' -e '^samples  .* in ' -e ' per second' "$1"
}

# same NAME SHARDS ARGUMENTS...: JSON and text of the whole and of as many shards, the last one first.
same() {
    name=$1
    count=$2
    shift 2
    "$nucleon" evaluate "$@" --json >whole.json 2>whole.err || fail "$name: $(head -c 300 whole.err)"
    "$nucleon" evaluate "$@" >whole.txt 2>/dev/null || fail "$name: text"
    files=
    i=1
    while [ $i -le "$count" ]; do
        "$nucleon" evaluate "$@" --shard $i/"$count" --json >shard_$i.json 2>err ||
            fail "$name: shard $i: $(head -c 300 err)"
        files="shard_$i.json $files"
        i=$((i + 1))
    done
    # shellcheck disable=SC2086
    {
        "$nucleon" merge-evaluations $files --json >merged.json 2>merged.err || fail "$name: $(head -c 300 merged.err)"
        "$nucleon" merge-evaluations $files >merged.txt 2>/dev/null || fail "$name: text of the merge"
    }
    for kind in json txt; do
        timeless whole.$kind >a
        timeless merged.$kind >b
        [ "$(wc -l <a)" -gt 3 ] || fail "$name: nothing to compare"
        cmp -s a b || fail "$name: $kind of $count shards is not that of the whole: $(diff a b | head -5)"
    done
    cmp -s whole.err merged.err || fail "$name: notes: $(diff whole.err merged.err | head -5)"
    passes=$((passes + 1))
}

/usr/bin/python3 "$root/test/e2e/spread.py" "$digits/digits.pt2" spread.pt2 &&
    "$nucleon" quantize spread.pt2 --calibration "$digits/calibration.npz" -o even.pt2 -q &&
    "$nucleon" compile even.pt2 -o even.pte -q &&
    "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o p.pte -q || exit 1
reference="--reference $digits/digits.pt2"
test="--dataset $digits/test.npz"

# ---- the whole again ----

# shellcheck disable=SC2086
{
    same "nodes, rescaled channels" 3 even.pte $test $reference --quantized even.pt2 --disagreements 5
    grep -q rescaled merged.txt || fail "no node has channels in another scale"
    same "seven shards" 7 p.pte $test $reference --disagreements 1 --confusion --ignore-label 3
    same "one shard" 1 p.pte $test
    same "segmentation" 4 p.pte $test $reference --task segment
    grep -q "program mean IoU" merged.txt || fail "no mean IoU"
}

# Numbers of a regression; labels that count from 1, of which a few samples would say nothing.
mkdir numbers shifted classes
unzip -q "$digits/test.npz" -d numbers || fail "unzip"
cp numbers/input.npy shifted/
# shellcheck disable=SC2086
{
    mv numbers/label.npy shifted/one.npy
    mv numbers/float_output.npy numbers/label.npy
    same "a regression" 5 even.pte --dataset numbers $reference --task regress
    grep -q "against the labels" merged.txt || fail "no regression"
}
/usr/bin/python3 - <<'PYTHON' || fail "labels from 1"
data = open("shifted/one.npy", "rb").read()
at = data.index(b"\n") + 1
width = (len(data) - at) // 360
labels = [(data[i] + 9) % 10 for i in range(at, len(data), width)]
open("shifted/label.npy", "wb").write(b"\x93NUMPY\x01\x00v\x00" + b"%-117s\n" %
    b"{'descr': '|u1', 'fortran_order': False, 'shape': (360,), }" + bytes(labels))
PYTHON
rm shifted/one.npy
same "labels that count otherwise" 60 p.pte --dataset shifted
grep -q "the model seems to have a class in front" merged.err || fail "no note of shifted labels: $(cat merged.err)"

# Decisions: boxes, points and anomalies of all shards are scored together; what is over time is not taken apart.
/usr/bin/python3 - "$digits/test.npz" <<'PYTHON' || fail "labels of decisions"
import struct, sys, zipfile
def npy(sizes, numbers):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, sizes))},), }}"
    return b"\x93NUMPY\x01\x00v\x00" + b"%-117s\n" % header.encode() + struct.pack(f"<{len(numbers)}f", *numbers)
n, k = 360, float("nan")
labels = {"boxes": ([n, 2, 5], [v for i in range(n) for v in (0, 0, i % 10 / 10, 1, 0.1 + i % 3 / 60, -1, k, 0, 0, 0)]),
          "points": ([n, 5, 3], [((i * 7 + 3) % 29) / 29 for i in range(n * 15)]),
          "anomaly": ([n], [i * i % 3 == 1 for i in range(n)]), "events": ([n], [i % 11 - 1 for i in range(n)])}
for kind, (sizes, numbers) in labels.items():
    with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(kind + ".npz", "w") as new:
        new.writestr("input.npy", old.read("input.npy"))
        new.writestr(f"label_{kind}.npy", npy(sizes, numbers))
PYTHON
# decided NAME RULE: a program of that decision.
decided() {
    "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" --decision "$2" -o "$1.pte" -q || fail "$1"
}
decided boxes '{"boxes":{"form":"fomo","rows":10,"columns":1,"background":false,"threshold":0.2}}'
decided points '{"keypoints":{"form":"coordinates","points":5,"threshold":0.01}}'
decided anomaly '{"anomaly":{"threshold":0.9,"score":"max"}}'
decided events '{"classes":{"step_seconds":0.5}}'
# shellcheck disable=SC2086
{
    same "boxes" 7 boxes.pte --dataset boxes.npz $reference
    grep -q "map50" merged.json || fail "boxes are not scored"
    same "points" 3 points.pte --dataset points.npz
    same "anomalies" 5 anomaly.pte --dataset anomaly.npz $reference
    grep -q "AUC  *0\.[1-9]" merged.txt || fail "anomalies are not scored: $(cat merged.txt)"
}
"$nucleon" merge-evaluations $files --min-accuracy 99 --max-false-alarms 1 >said 2>err
[ $? -eq 3 ] && grep -q "accuracy of the decisions is [0-9.]* %, .* below --min-accuracy 99; false alarms of the decisions is [0-9.]*, .* above --max-false-alarms 1" err ||
    fail "gates of decisions: $(cat err)"
"$nucleon" evaluate events.pte --dataset events.npz --shard 1/2 --json >said 2>err
[ $? -eq 2 ] && grep -q "decisions are over time" err || fail "events in shards: $(cat err)"
"$nucleon" evaluate boxes.pte --dataset boxes.npz --max-false-alarms 1 >said 2>err
[ $? -eq 2 ] && grep -q "max-false-alarms cannot be measured: it takes a decision about events" err || fail "no false alarms of boxes: $(cat err)"

# Images in folders of classes, several of them in one shard.
cp -r "$root/test/fault/images/." classes/
mkdir -p few/a few/b # other data than classes, which evaluate would note
cp classes/a/0.png few/a/ && cp classes/b/0.png few/b/
"$nucleon" compile "$root/test/fault/tiny.pt2" --calibration few --classes a,b,c -o images.pte -q || fail "images"
same "images" 2 images.pte --dataset classes --reference "$root/test/fault/tiny.pt2"

# The Slurm array, one task after the other, as in docs/evaluate.md.
mkdir bin array
ln -s "$nucleon" bin/nucleon
i=1
while [ $i -le 4 ]; do
    (cd array && PATH=$work/bin:$PATH SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=4 SLURM_CPUS_PER_TASK=1 \
        sh "$root/examples/shards/array.sh" ../p.pte --dataset "$digits/test.npz") || fail "task $i of the array"
    i=$((i + 1))
done
"$nucleon" merge-evaluations array/shards/*.json >merged.txt || fail "the shards of the array"
"$nucleon" evaluate p.pte --dataset "$digits/test.npz" >whole.txt
timeless whole.txt >a
timeless merged.txt >b
cmp -s a b || fail "the array: $(diff a b | head -5)"

# ---- gates ----

"$nucleon" evaluate p.pte --dataset "$digits/test.npz" --shard 1/2 --json >1.json
"$nucleon" evaluate p.pte --dataset "$digits/test.npz" --shard 2/2 --json >2.json
"$nucleon" evaluate p.pte --dataset "$digits/test.npz" --min-accuracy 99.9 >/dev/null 2>whole.err
[ $? -eq 3 ] || fail "the whole has no accuracy below 99.9 %"
"$nucleon" merge-evaluations 2.json 1.json --min-accuracy 99.9 >merged.txt 2>merged.err
[ $? -eq 3 ] || fail "a gate that is missed ends with another exit code than 3"
cmp -s whole.err merged.err || fail "a gate: $(cat merged.err)"
"$nucleon" merge-evaluations 2.json 1.json --min-accuracy 90 -q >merged.txt 2>&1 || fail "a gate that holds"

# ---- what is refused ----

# refused CODE TEXT FILES...: exit code, part of the one line on standard error, nothing on standard output.
refused() {
    wanted=$1
    text=$2
    shift 2
    "$nucleon" merge-evaluations "$@" >out 2>err
    code=$?
    [ $code -eq "$wanted" ] || fail "$*: exit code $code instead of $wanted: $(head -c 300 err)"
    grep -q -F -e "$text" err || fail "$*: no '$text' in: $(head -c 300 err)"
    [ "$(wc -l <err)" -eq 1 ] || fail "$*: not one line on standard error"
    [ ! -s out ] || fail "$*: prints to standard output"
    passes=$((passes + 1))
}

# second NAME ARGUMENTS...: shard 2 of 2 of another evaluation.
second() {
    name=$1
    shift
    "$nucleon" evaluate "$@" --shard 2/2 --json >"$name.json" 2>err || fail "$name: $(head -c 300 err)"
}

second program even.pte --dataset "$digits/test.npz"
# shellcheck disable=SC2086
second reference p.pte $test $reference
second data p.pte --dataset shifted
second task p.pte --dataset "$digits/test.npz" --task segment
second label p.pte --dataset "$digits/test.npz" --ignore-label 3
"$nucleon" evaluate p.pte --dataset "$digits/test.npz" --shard 2/3 --json >third.json
"$nucleon" evaluate p.pte --dataset "$digits/test.npz" --json >whole.json
"$nucleon" evaluate p.pte --dataset nothing.npz --json >failed.json 2>/dev/null
"$nucleon" targets --json >targets.json
sed 's/"version": "[^"]*"/"version": "0.0.1"/' 2.json >version.json
head -c 3000 2.json >cut.json
sed 's/"in_top": [0-9]*/"in_top": -1/' 2.json >negative.json
sed 's/"signal": "[^"]*"/"signal": "12"/' 2.json >sum.json
sed 's/"samples": 180/"samples": 181/' 2.json >samples.json
sed 's/"confusion": \[/"confusion": 7, "another": [/' 2.json >confusion.json
echo '{}' >object.json

refused 1 "1 of 2 shards is missing: 2/2" 1.json
refused 1 "2 of 3 shards are missing: 1/3, 3/3" third.json
refused 1 "1.json: is shard 1/2, as is 1.json: give each once" 1.json 1.json
refused 1 "third.json: is one of 3 shards, 1.json of 2" 1.json third.json
refused 1 "program.json: is of another program than 1.json" 1.json program.json
refused 1 "reference.json: has a reference model, 1.json has none" 1.json reference.json
refused 1 "1.json: has no reference model, reference.json has one" reference.json 1.json
refused 1 "data.json: is of another data set than 1.json" 1.json data.json
refused 1 "task.json: --task is segment, of 1.json it is none" 1.json task.json
refused 1 "label.json: --ignore-label is 3, of 1.json it is none" 1.json label.json
refused 1 "version.json: version of nucleon is 0.0.1, of 1.json it is " 1.json version.json
refused 1 "whole.json: is an evaluation of all samples, made without --shard" whole.json
refused 1 "failed.json: the evaluation failed: nothing.npz" failed.json
refused 1 "targets.json: is what 'nucleon targets' printed, no evaluation" targets.json
refused 1 "object.json: is no evaluation" object.json
refused 1 "p.pte: is no evaluation" p.pte
refused 1 "nothing.json" nothing.json
refused 1 "cut.json: line " 1.json cut.json
refused 1 "negative.json: shard.outputs[0].program.in_top: is a count, and negative" 1.json negative.json
refused 1 "confusion.json: outputs[0].classes.program.confusion: is an integer where an array belongs" 1.json confusion.json
refused 1 "is no sum: it has no number of 16 hexadecimal digits" 1.json sum.json
refused 1 "samples.json: has other samples than shard 2/2 of 360" 1.json samples.json
refused 2 "--min-sqnr compares with the float model" 1.json 2.json --min-sqnr 20

[ $failures -eq 0 ] && echo "shards: $passes cases are good"
exit $((failures != 0))

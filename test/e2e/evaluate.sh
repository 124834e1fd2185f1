#!/bin/sh
# nucleon evaluate as a user meets it: evaluate.sh NUCLEON SOURCE_ROOT.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"

# run CODE ARGUMENTS...: evaluate the program with that exit code; text has no more than 80 columns.
run() {
    wanted=$1
    shift
    "$nucleon" evaluate "$@" >out 2>err
    code=$?
    [ $code -eq "$wanted" ] || fail "$*: exit code $code instead of $wanted: $(head -c 300 err)"
    [ "$(head -c 1 out)" = "{" ] || [ "$(awk 'length($0) > 80' out | wc -l)" -eq 0 ] || fail "$*: lines of more than 80 columns"
}

# has FILE TEXT: a line with the text.
has() {
    grep -q -F -e "$2" "$1" || fail "no '$2' in the last $1: $(head -c 900 "$1")"
}

hasnot() {
    ! grep -q -F -e "$2" "$1" || fail "'$2' in the last $1"
}

# mistake CODE TEXT ARGUMENTS...: one line on standard error with the text, nothing on standard output.
mistake() {
    wanted=$1
    text=$2
    shift 2
    run "$wanted" "$@"
    has err "$text"
    [ "$(wc -l <err)" -eq 1 ] || fail "$*: not one line on standard error"
    [ ! -s out ] || fail "$*: prints to standard output"
}

# npy FILE DESCR SHAPE BYTES: an .npy of zeros.
npy() {
    header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    { printf '\223NUMPY\001\000\166\000%-117s\n' "$header"; head -c "$4" /dev/zero; } >"$1"
}

model=$digits/digits.pt2
data=$digits/test.npz
"$nucleon" quantize "$model" --calibration "$digits/calibration.npz" -o quantized.pt2 &&
    "$nucleon" compile quantized.pt2 -o digits.pte >/dev/null || exit 1

# ---- what is printed ----

run 0 digits.pte --dataset "$data" --reference "$model"
has out "samples                    360 in "
has out "per second"
has out "output                 shape                SQNR dB         MSE   max error"
has out "softmax                [1, 10] "
has out "'softmax': 10 classes along axis 1 (labels)"
has out "reference accuracy       98."
has out "difference"
has out "program top 5"
has out "agreement "
has out "label           decisions"
[ "$(awk '/^label/ { on = 1; next } on && NF == 11' out | wc -l)" -eq 10 ] || fail "the confusion matrix has not 10 rows"

run 0 digits.pte --dataset "$data"
has out "'softmax': 10 classes along axis 1 (labels)"
has out "data                   input -> x [1,1,8,8], 0 to 1"
has out "not used: float_output"
has out "program accuracy"
hasnot out "agreement"
hasnot out "SQNR"

# A program calibrated with zeros decides otherwise.
mkdir inputs
npy inputs/x.npy '<f4' '(4, 1, 8, 8)' 1024
"$nucleon" compile "$model" --calibration inputs -o bad.pte >/dev/null 2>err || fail "zeros: $(cat err)"
run 0 bad.pte --dataset "$data" --reference "$model" --disagreements 3
has out "  sample output "
[ "$(awk '/^  sample output/ { on = 1; next } on && NF == 6' out | wc -l)" -eq 3 ] || fail "not 3 disagreements"
# A float program is the model.
"$nucleon" compile "$model" --no-quantize -o float.pte >/dev/null || fail "a float program"
run 0 float.pte --dataset "$data" --reference "$model" --disagreements 3 --min-agreement 100 --min-sqnr 100
has out "agreement               100.00 %  (360 of 360)"
hasnot out "  sample output "

run 0 digits.pte --dataset "$data" --reference "$model" --ignore-label 3
has out "labels left out        "

run 0 digits.pte --dataset "$data" --reference "$model" --json
has out '"schema": 1,'
has out '"agreement": '
has out '"confusion": ['
has out '"missed": null'
[ "$(tail -n 1 out)" = "}" ] || fail "JSON does not end with its object"

# Without labels: the softmax says what it is.
run 0 digits.pte --dataset inputs --reference "$model"
has out "(a softmax makes it)"
has out "agreement"
hasnot out "accuracy"
run 0 digits.pte --dataset inputs --reference "$model" --task regress
has out "'softmax': numbers (asked for)"
has out "PSNR"
hasnot out "agreement"
run 0 digits.pte --dataset inputs
has out "nothing to compare with"

# ---- node by node ----

run 0 digits.pte --dataset "$data" --reference "$model" --quantized quantized.pt2 --threshold 38
has out "first node below 38.0 dB: blocks.0/relu6_1"
hasnot out nan
hasnot out "without a counterpart"
run 0 digits.pte --dataset "$data" --reference "$model" --quantized quantized.pt2 --json
has out '"float_name": '
has out '"nodes_without_counterpart": []'
# ---- gates ----

run 0 digits.pte --dataset "$data" --reference "$model" --min-accuracy 97.5 --min-agreement 95 --min-sqnr 30
run 3 digits.pte --dataset "$data" --reference "$model" --min-accuracy 99.9
has err "nucleon: accuracy of 'softmax' is 9"
has err " below --min-accuracy 99.9"
[ "$(wc -l <err)" -eq 1 ] || fail "a missed gate is not one line"
has out "program accuracy"
run 3 bad.pte --dataset "$data" --reference "$model" --min-agreement 100 --min-sqnr 60
has err "agreement of 'softmax' is "
has err "; SQNR of 'softmax' is "
run 3 digits.pte --dataset "$data" --reference "$model" --min-sqnr 60 --json
has out "\"missed\": \"SQNR of 'softmax' is "
mistake 2 "--min-accuracy cannot be measured: it takes class labels" digits.pte --dataset inputs --min-accuracy 90
mistake 2 "--min-sqnr compares with the float model" digits.pte --dataset "$data" --min-sqnr 20
mistake 2 "--min-agreement cannot be measured" digits.pte --dataset inputs --reference "$model" --task regress \
    --min-agreement 90
mistake 2 "--min-accuracy takes percents from 0 to 100, not '101'" digits.pte --dataset "$data" --min-accuracy 101
mistake 2 "--min-sqnr DB takes a finite number without a unit, not 'high'" digits.pte --dataset "$data" --min-sqnr high
mistake 2 "--ignore-label N takes an integer, not 'none'" digits.pte --dataset "$data" --ignore-label none
mistake 2 "--task takes one of: auto, classify, segment, regress" digits.pte --dataset "$data" --task rank
mistake 2 "there are no classes along axis 7" digits.pte --dataset inputs --class-axis 7
mistake 2 "there are no classes along axis 7" digits.pte --dataset "$data" --class-axis 7

# ---- data that do not fit ----

labelled() {
    rm -rf "$1"
    mkdir "$1"
    cp inputs/x.npy "$1/"
    npy "$1/$2.npy" "$3" "$4" "$5"
}

labelled few label '|i1' '(3,)' 3
mistake 1 "array 'label' is int8 [3]: for 4 samples of output 'softmax' [1, 10]" digits.pte --dataset few
labelled cold label '|i1' '(4, 10)' 40
mistake 1 "its rows are not one-hot: give the index of the class" digits.pte --dataset cold --task classify
labelled wide labels '<u2' '(4, 1)' 8
run 0 digits.pte --dataset wide
has out "(labels)"
labelled real label '<f8' '(4,)' 32
run 0 digits.pte --dataset real
has err "array 'label' is float64: its whole numbers are taken as classes"
labelled target label '<f4' '(4, 10)' 160
run 0 digits.pte --dataset target --reference "$model"
has out "'softmax': numbers (labels have its shape)"
has out "against the labels        reference      program"
has out "PSNR dB"
mkdir empty one none
npy empty/x.npy '<f4' '(0, 1, 8, 8)' 0
mistake 1 "holds no sample" digits.pte --dataset empty
npy one/x.npy '<f4' '(1, 1, 8, 8)' 256
run 0 digits.pte --dataset one --reference "$model"
has out "samples                      1 in "
mistake 1 "neither .npy files nor images (.png, .jpg) nor recordings" digits.pte --dataset none
mistake 1 "is a folder, not an ExecuTorch program" . --dataset "$data"
mistake 2 "is a float model; --quantized takes what" digits.pte --dataset "$data" --reference "$model" \
    --quantized "$model"

# Values that stay in float in two regions, neither of which gains for sure alone: on new samples they do together.
"$nucleon" compile "$root/test/e2e/regions.pt2" --calibration "$root/test/e2e/regions_calibration.npz" -o regions.pte \
    >out 2>err || fail "regions: $(cat err)"
run 0 regions.pte --dataset "$root/test/e2e/regions_test.npz" --reference "$root/test/e2e/regions.pt2" --min-sqnr 40

[ $failures -eq 0 ] && echo "evaluate: good"
exit $((failures != 0))

#!/bin/sh
# The command line as a user meets it: cli.sh NUCLEON SOURCE_ROOT.
# What works must work, and every bad input must end with the documented exit code, exactly one line on standard
# error, the output file untouched and nothing left behind.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
TMPDIR=$work/tmp
export TMPDIR
mkdir tmp box

# good NAME COMMAND...: exit code 0; what it printed is in out and err.
good() {
    name=$1
    shift
    "$@" >out 2>err
    code=$?
    if [ $code -ne 0 ]; then
        fail "$name: exit code $code: $(head -c 300 err)"
        return 1
    fi
    passes=$((passes + 1))
}

# bad CODE NAME COMMAND...: that exit code and one line on standard error; nothing new in box/ and tmp/.
bad() {
    wanted=$1
    name=$2
    shift 2
    ls -lR box tmp >before
    "$@" >out 2>err
    code=$?
    ls -lR box tmp >after
    lines=$(wc -l <err)
    if [ $code -ne "$wanted" ]; then
        fail "$name: exit code $code instead of $wanted: $(head -c 300 err)"
    elif [ "$lines" -ne 1 ] || [ "$(tail -c 1 err | od -An -tx1 | tr -d ' ')" != 0a ]; then
        fail "$name: $lines lines on standard error: $(head -c 300 err)"
    elif [ -s out ]; then
        fail "$name: prints to standard output: $(head -c 100 out)"
    elif ! cmp -s before after; then
        fail "$name: leaves something behind: $(diff before after | head -3)"
    else
        passes=$((passes + 1))
    fi
}

# either NAME COMMAND...: a damaged file may be refused (code 1, one line) or, where the damage does not matter, read.
either() {
    name=$1
    shift
    "$@" >out 2>err
    code=$?
    if [ $code -eq 0 ] || { [ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ]; }; then
        passes=$((passes + 1))
    else
        fail "$name: exit code $code: $(head -c 300 err)"
    fi
}

holds() {
    if eval "$2"; then passes=$((passes + 1)); else fail "$1"; fi
}

# replace IN OUT OLD NEW: the first OLD becomes NEW of the same length, so that an archive stays in order.
replace() {
    sed "s/$3/$4/" "$1" >"$2"
    if cmp -s "$1" "$2" || [ "$(wc -c <"$1")" -ne "$(wc -c <"$2")" ]; then fail "replace: '$3' by '$4'"; fi
}

# npy FILE DESCR SHAPE BYTES: an .npy of zeros.
npy() {
    header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    padded=$(printf '%-117s' "$header")
    { printf '\223NUMPY\001\000\166\000%s\n' "$padded"; head -c "$4" /dev/zero; } >"$1"
}

# png FILE: a grey image of 8 x 8 pixels.
png() {
    {
        printf '\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\010\000\000\000\010\010\000'
        printf '\000\000\000\341\144\341\127\000\000\000\123\111\104\101\124\170\234\001\110\000\267\377\000\000\004\010'
        printf '\014\020\024\030\034\000\040\044\050\054\060\064\070\074\000\100\104\110\114\120\124\130\134\000\140\144'
        printf '\150\154\160\164\170\174\000\200\204\210\214\220\224\230\234\000\240\244\250\254\260\264\270\274\000\300'
        printf '\304\310\314\320\324\330\334\000\340\344\350\354\360\364\370\001\356\053\036\206\015\232\105\017\000\000'
        printf '\000\000\111\105\116\104\256\102\140\202'
    } >"$1"
}

compile() {
    "$nucleon" compile "$1" --calibration "${3:-$digits/calibration.npz}" -o "$2"
}

# ---- help and versions ----

good version "$nucleon" version
holds "version prints one line" '[ "$(wc -l <out)" -eq 1 ] && [ ! -s err ]'
good --version "$nucleon" --version
good help "$nucleon" help
commands=$(sed -n 's/^  \([a-z-]*\)  .*/\1/p' out)
holds "help lists the commands" '[ "$(echo "$commands" | wc -l)" -ge 13 ]'
cp "$digits/digits.pt2" model.pt2
cp "$digits/calibration.npz" samples.npz
cp "$digits/test.npz" test.npz
cp "$digits/../../test/fuzz/corpus/litert/conv2d.tflite" model.tflite
printf 'selftest 1 digits nodes 2 cases 1\nnode 0 0 CPU aten::relu.out relu\nnode 1 1 NPU NeutronBackend\ncase 0\nok 0 01234567\nok 1 89abcdef\nPASS\n' >device.log
for name in one two; do
    "$nucleon" compile model.pt2 --calibration samples.npz -o model.pte -q \
        --dump-kernel-selection $name.c || fail "$name.c"
done
for command in '' $commands; do
    # shellcheck disable=SC2086
    good "$command --help" "$nucleon" $command --help
    holds "help of '$command' goes to standard output" '[ -s out ] && [ ! -s err ]'
    holds "help of '$command' has 80 columns" '[ -z "$(awk "length > 80" out)" ]'
    cp out help.txt
    # shellcheck disable=SC2086
    good "$command -h" "$nucleon" $command -h
    holds "-h is --help" 'cmp -s out help.txt'
    # shellcheck disable=SC2086
    good "help $command" "$nucleon" help $command
    holds "help COMMAND is COMMAND --help" 'cmp -s out help.txt'
    [ -n "$command" ] || continue
    # The examples run as they stand.
    sed -n '/^Examples*$/,/^$/p' help.txt | sed -n 's/^  //p' >example.sh
    holds "$command has an example" '[ -s example.sh ]'
    nucleon() { "$nucleon" "$@"; }
    # shellcheck disable=SC1091
    good "the example of $command" . ./example.sh
done
holds "what the examples made" '[ -s small.pte ] && [ -s best.pte ] && [ -s src/digits.c ] && [ -s kernels.c ]'
good "options are in groups, the common ones first" "$nucleon" help compile
holds "the output comes first" '[ "$(grep -A 1 "^Common options$" out | grep -c -e "-o, --output FILE.pte")" -eq 1 ]'
good "no arguments at all" sh -c '"$1" >none.txt; [ $? -eq 2 ] && cat none.txt' sh "$nucleon"
holds "lists the commands" 'grep -q "^  compile " out'

# ---- how options are written ----

good "a value attached" "$nucleon" compile model.pt2 --calibration=samples.npz -oattached.pte -q --accuracy=fast
good "a value after =" "$nucleon" compile model.pt2 --calibration samples.npz -o=equals.pte --quiet \
    --accuracy fast
holds "both are written, without a word" '[ -s attached.pte ] && cmp -s attached.pte equals.pte && [ ! -s out ] && [ ! -s err ]'
"$nucleon" quantize model.pt2 --calibration samples.npz -o fast.pt2 --accuracy fast -q || fail "quantize fast"
for budget in 1M 1000k 1000000 0.5Mi 1000KB 1000kB 1024KiB 1e6 1m '1 M' 1000000.5 -1 99999999999999999999M; do
    "$nucleon" compile fast.pt2 -o budget.pte --memory-budget "$budget" -q >out 2>err
    echo "$budget $?"
done >budgets
holds "units of sizes" '[ "$(tr "\n" "," <budgets)" = \
    "1M 0,1000k 0,1000000 0,0.5Mi 0,1000KB 2,1000kB 0,1024KiB 0,1e6 2,1m 2,1 M 2,1000000.5 2,-1 2,99999999999999999999M 2," ]'
"$nucleon" compile fast.pt2 -o budget.pte >out
needs=$("$nucleon" compile fast.pt2 -o x.pte --memory-budget 1 2>&1 >/dev/null |
    sed -n 's/.*needs \([0-9]*\) bytes.*/\1/p')
for unit in '' B; do
    good "as much as it needs" "$nucleon" compile fast.pt2 -o x.pte --memory-budget "$needs$unit" -q
done
"$nucleon" compile fast.pt2 -o x.pte --memory-budget $((needs - 1)) -q >out 2>err
holds "a byte less is too little" '[ $? -eq 3 ]'
good "a budget in thousands" "$nucleon" explain model.pt2 --cycle-budget 10M
for command in $commands; do
    holds "--quiet is an option of $command" '"$nucleon" help $command | grep -q -e "-q, --quiet"'
done
for command in compile convert quantize run evaluate inspect; do
    bad 2 "$command without arguments" "$nucleon" $command
    bad 2 "$command with an unknown option" "$nucleon" $command x --no-such-option
done
bad 2 "unknown command" "$nucleon" compose
bad 2 "too many arguments" "$nucleon" inspect a b
bad 2 "option without a value" "$nucleon" compile x.pt2 -o
bad 2 "flag with a value" "$nucleon" compile x.pt2 --no-delegate=yes -o box/x.pte
bad 2 "choice out of range" "$nucleon" compile x.pt2 --delegate-data elsewhere -o box/x.pte
bad 2 "number out of range" "$nucleon" compile x.pt2 --threads many -o box/x.pte
bad 2 "number with a sign" "$nucleon" compile x.pt2 --threads -1 -o box/x.pte

# ---- a terminal: colours, and how far long steps are ----

escape=$(printf '\033')
good "colours on demand" "$nucleon" help compile --color always
holds "headings are bold" '"$nucleon" compile --color always --help | grep -q "^$escape\[1mCommon options$escape\[0m$"'
holds "a pipe has none" '! grep -q "$escape" help.txt'
if command -v script >/dev/null; then
    # on_terminal VARIABLE=VALUE COMMAND: what a terminal of that environment gets is in screen.
    on_terminal() {
        script -qec "env $1 $2" /dev/null </dev/null >screen 2>&1
    }
    on_terminal TERM=xterm "$nucleon compile fast.pt2 -o x.pte"
    holds "a terminal shows colours" 'grep -q "$escape\[32mNPU$escape\[0m 28 of 28" screen'
    on_terminal TERM=xterm "$nucleon compile model.pt2 --no-such"
    holds "errors, too" 'grep -q "$escape\[1;31mnucleon:$escape\[0m compile: unknown" screen'
    for variable in NO_COLOR=1 TERM=dumb; do
        on_terminal "TERM=xterm $variable" "$nucleon compile fast.pt2 -o x.pte"
        holds "none with $variable" 'grep -q "NPU 28 of 28" screen && ! grep -q "$escape\[[0-9;]*m" screen'
    done
    # As many samples as take longer than what is too short to be shown.
    /usr/bin/python3 -c 'import numpy as np; a = np.load("samples.npz"); np.savez("many.npz", **{k: np.concatenate([a[k]] * 5) for k in a.files})'
    on_terminal TERM=xterm "$nucleon tune model.pt2 --for sqnr --calibration many.npz --vary-io"
    holds "share, rate and remaining time" \
        'tr "\r" "\n" <screen | grep -Eq "^tune +\[#+\.*\] [0-9]+/[0-9]+ +[0-9]+ %  [0-9.]+(/s| s each)  [0-9]+ s left"'
    holds "which are taken away" 'tr "\r" "\n" <screen | grep -B 1 "SQNR dB" | grep -q "^$escape\[K"'
    on_terminal TERM=xterm "$nucleon tune model.pt2 --for sqnr --calibration samples.npz --accuracy fast --quiet"
    holds "not with --quiet" '! grep -q left screen && grep -q "nucleon compile model.pt2" screen'
fi
"$nucleon" tune model.pt2 --for latency --calibration samples.npz --accuracy fast >out 2>err
holds "nothing of it in a pipe" '[ ! -s err ] && ! grep -q "$escape" out'

# ---- the path of a model ----

for model in digits digits_channels_last digits_same_inputs; do
    good "compile $model" compile "$digits/$model.pt2" $model.pte || continue
    holds "compile $model says what it made, without notes" '[ -s out ] && [ ! -s err ]'
    good "compile $model again" compile "$digits/$model.pt2" again.pte
    holds "$model: equal bytes from equal input" "cmp -s $model.pte again.pte"
    good "run $model" "$nucleon" run $model.pte --input "$digits/test.npz" --output result.npz
    holds "run $model wrote its outputs" '[ -s result.npz ]'
    cp result.npz "$model.npz"
    good "run $model, printed" "$nucleon" run $model.pte --input "$digits/test.npz"
    holds "run $model prints a line a sample" '[ "$(wc -l <out)" -eq 360 ]'
    good "evaluate $model" "$nucleon" evaluate $model.pte --dataset "$digits/test.npz" --reference "$digits/$model.pt2"
    holds "evaluate $model reports accuracy and SQNR" 'grep -q accuracy out && grep -q SQNR out'
    good "inspect $model.pte" "$nucleon" inspect $model.pte --disassemble
    holds "inspect names the backend" 'grep -q NeutronBackend out'
    good "inspect $model.pt2" "$nucleon" inspect "$digits/$model.pt2"
done
good "the summary" compile "$digits/digits.pt2" summary.pte
holds "the summary has the SQNR of the output" 'grep -q "^  SQNR      softmax .* dB .*on .* held-out samples$" out'
holds "the summary has placement, latency and memory" \
    '[ "$(cut -c 1-12 out | grep -cE "^  (placement|latency|memory|SQNR|made by) ")" -eq 5 ] &&
        grep -q "^summary.pte: [0-9,]* bytes$" out'
holds "the summary has 10 lines of 80 columns" '[ "$(wc -l <out)" -le 10 ] && [ "$(awk "length > 80" out | wc -l)" -eq 0 ]'
good "nothing is measured" "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" \
    -o summary.pte --accuracy fast
holds "nothing is said of it" '! grep -q SQNR out'
npy blank.npy '<f4' '(4, 1, 8, 8)' 1024
good "blank images" compile "$digits/digits.pt2" summary.pte blank.npy
holds "blank images are noted in one line" '[ "$(grep -c "blank.npy: input .x. is 0 throughout all samples" err)" -eq 1 ]'
holds "and not blamed on the outputs" '[ "$(wc -l <err)" -eq 1 ]'
holds "a dim order changed in the model changes no output" 'cmp -s digits.npz digits_same_inputs.npz'
good "quantize" "$nucleon" quantize "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o quantized.pt2
holds "quantize says what it lost" 'grep -q "SQNR .* dB .*on .* held-out samples" out'
good "quantize to float" "$nucleon" quantize "$digits/digits.pt2" --calibration "$digits/calibration.npz" \
    --precision '*=float' -o float.pt2
good "which takes no samples either" "$nucleon" compile float.pt2 -o float.pte
good "quantize again" "$nucleon" quantize "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o again.pt2
holds "a quantized model has equal bytes from equal input" 'cmp -s quantized.pt2 again.pt2'
good "inspect a quantized model" "$nucleon" inspect quantized.pt2
good "compile a quantized model" "$nucleon" compile quantized.pt2 -o again.pte
good "evaluate node by node" "$nucleon" evaluate again.pte --dataset "$digits/test.npz" \
    --reference "$digits/digits.pt2" --quantized quantized.pt2 --threshold 38
holds "the table names the last node and the first that diverges" \
    'grep -q "^softmax " out && grep -q "^first node below 38.0 dB: blocks.0/relu6_1$" out'
holds "the nodes' program is the program" '! grep -q "the program differs" out'
holds "one step or two: the same program" 'cmp -s digits.pte again.pte'
good "compile without the NPU" "$nucleon" compile quantized.pt2 --no-delegate -o cpu.pte
good "run without the NPU" "$nucleon" run cpu.pte --input "$digits/test.npz" --output cpu.npz
good "payload in a segment" "$nucleon" compile quantized.pt2 --delegate-data segment -o segment.pte
good "run with a segment" "$nucleon" run segment.pte --input "$digits/test.npz" --output segment.npz
good "run inline" "$nucleon" run digits.pte --input "$digits/test.npz" --output inline.npz
holds "a segment changes no result" 'cmp -s segment.npz inline.npz'
good "memory map" "$nucleon" compile quantized.pt2 -o map.pte --memory-map map.txt --memory-budget 1000000 -v
holds "plans are proven" '[ "$(grep -c "proven optimal" map.txt)" -eq 2 ] && [ "$(grep -c "are alive at the peak: proven optimal" out)" -eq 2 ]'
holds "the map says which value of the model a tensor is" 'grep -q "  blocks.0.c3$" map.txt && grep -q "  x (int8)$" map.txt'
holds "the map changes no program" 'cmp -s map.pte digits.pte'
holds "the map has the input" 'grep -q "^ *[0-9]* *[0-9]*  #*\.*  x$" map.txt'
good "picture of the memory" "$nucleon" compile quantized.pt2 -o map.pte --memory-map map.svg
holds "the picture is one" 'head -c 4 map.svg | grep -q "<svg" && tail -n 1 map.svg | grep -q "</svg>"'
"$nucleon" compile quantized.pt2 -o box/budget.pte --memory-budget 1000 >out 2>err
code=$?
holds "over the budget" '[ $code -eq 3 ] && [ ! -e box/budget.pte ] && [ "$(wc -l <err)" -eq 1 ]'
holds "what is alive at the peak is reported" 'grep -q "alive at instruction" out && grep -q "  blocks.0/relu6$" out'
good "scratch in the arena" "$nucleon" compile quantized.pt2 -o scratch.pte --plan-delegate-scratch
holds "inputs and outputs lie in the scratch" 'tr "\n" " " <out | grep -q "arena \([0-9,]*\) bytes, NPU scratch \1 inside"'
good "run with scratch in the arena" "$nucleon" run scratch.pte --input "$digits/test.npz" --output scratch.npz
holds "the place of the scratch changes no result" 'cmp -s scratch.npz inline.npz'
good "inspect scratch in the arena" "$nucleon" inspect scratch.pte
holds "the place of the scratch is reported" 'grep -q "nucleon_scratch = ." out'
holds "the runtime's memory is reported" 'tail -n 1 out | grep -q "^memory of the runtime: state [0-9]*, planned [0-9]*, temporary"'
sed "s/nucleon_scratch/nucleon_scratcH/" scratch.pte >moved.pte
python3 "$root/test/e2e/seal.py" moved.pte || exit 1
good "run without the place" "$nucleon" run moved.pte --input "$digits/test.npz" --output moved.npz
holds "other runtimes give the same" 'cmp -s moved.npz inline.npz'
good "compile for profiling" "$nucleon" compile quantized.pt2 --profile -o profile.pte
good "run as plain C" "$nucleon" run digits.pte --input "$digits/test.npz" --output plain.npz --simulator plain
good "run with threads" "$nucleon" run digits.pte --input "$digits/test.npz" --output threads.npz --threads 3
holds "plain C gives the same results" 'cmp -s plain.npz inline.npz'
holds "threads give the same results" 'cmp -s threads.npz inline.npz'
bad 2 "more threads than there may be" "$nucleon" run digits.pte --input "$digits/test.npz" --threads 1000
bad 2 "a simulator that does not exist" "$nucleon" run digits.pte --input "$digits/test.npz" --simulator fast
good "profile" "$nucleon" run profile.pte --input "$digits/test.npz" --output profile.npz --profile --etdump d.etdump
holds "profiling changes no result" 'cmp -s profile.npz inline.npz'
holds "kernels have nodes and lines" 'grep -q "^1.0 *NPU CONV_2D .*stem + relu6  *train.py:23" out'
holds "an ETDump is written" '[ "$(dd if=d.etdump bs=1 skip=8 count=4 2>/dev/null)" = ED00 ]'
good "profile of a program without records" "$nucleon" run digits.pte --input "$digits/test.npz" --profile
holds "it is said" 'grep -q "without --profile" out'
bad 1 "an ETDump nowhere" "$nucleon" run profile.pte --input "$digits/test.npz" -o box/none/x --etdump box/none/y
good "weights in flash" "$nucleon" compile quantized.pt2 --fetch-constants-to-sram -o fetch.pte
good "run with copies" "$nucleon" run fetch.pte --input "$digits/test.npz" --output fetch.npz
holds "fetching weights changes no result" 'cmp -s fetch.npz inline.npz'
good "profile with copies" "$nucleon" run fetch.pte --input "$digits/test.npz" --profile
holds "copies have their rows" 'grep -q " NPU FETCH " out && grep -q " NPU WAIT " out'
good "kernel selection" "$nucleon" compile quantized.pt2 --dump-kernel-selection one.c -o kernels.pte
holds "names the kernels the program has" 'grep -q "NeutronKernel_CONV_2D\] = " one.c && ! grep -q "POOL_2D\] = " one.c'
good "another program's" "$nucleon" compile "$digits/digits_unsupported.pt2" --dump-kernel-selection two.c \
    --calibration "$digits/calibration.npz" -o kernels.pte
good "merged" "$nucleon" merge-kernel-selection one.c two.c -o both.c
good "merged the other way round" "$nucleon" merge-kernel-selection two.c one.c -o again.c
holds "the order does not matter" 'cmp -s both.c again.c'
if command -v cc >/dev/null; then
    good "a selection is C" cc -std=c11 -pedantic -Wall -Wextra -Wmissing-prototypes -Werror -c both.c -o both.o
fi
sed 's/VERSION 0x4E55/VERSION 0x4E54/' one.c >old.c
bad 1 "a selection of another version" "$nucleon" merge-kernel-selection one.c old.c -o box/x.c
holds "names both versions" 'grep -q "old.c: made for microcode version 0x4E54" err'
sed 's/Kernel_CONV_2D\] =/Kernel_NOTHING] =/' one.c >odd.c
bad 1 "a kernel there is not" "$nucleon" merge-kernel-selection odd.c -o box/x.c
bad 1 "no selection at all" "$nucleon" merge-kernel-selection "$digits/README.md" -o box/x.c
bad 2 "nowhere to go" "$nucleon" merge-kernel-selection one.c
good "int8 boundaries" "$nucleon" compile quantized.pt2 --io int8 -o int8.pte
good "run with float data for int8 inputs" "$nucleon" run int8.pte --input "$digits/test.npz" --output int8.npz
holds "int8 boundaries change no result" 'cmp -s int8.npz inline.npz'
good "evaluate with int8 boundaries" "$nucleon" evaluate int8.pte --dataset "$digits/test.npz"
good "inspect int8 boundaries" "$nucleon" inspect int8.pte
holds "the program takes and gives int8, and nothing is left to the CPU" \
    'grep -q ": int8\[1, 1, 8, 8\]" out && ! grep -q "quantize_per_tensor" out && grep -q "input0_scale" out'
good "payload version 0" "$nucleon" compile quantized.pt2 --payload-version 0 -o v0.pte
good "run payload version 0" "$nucleon" run v0.pte --input "$digits/test.npz" --output v0.npz
holds "the payload version changes no result" 'cmp -s v0.npz inline.npz'
good "inspect payload version 0" "$nucleon" inspect v0.pte --disassemble
holds "the version and its header are shown" 'grep -q "payload version 0" out && grep -q "1 inputs, 1 outputs" out'
mkdir -p parts
good "intermediates" "$nucleon" compile quantized.pt2 --intermediates-dir parts -o parts.pte
holds "intermediates are written" 'ls parts/*.tflite >/dev/null 2>&1'
for part in parts/*.tflite; do
    [ -f "$part" ] && good "inspect $part" "$nucleon" inspect "$part"
done
good "timings" "$nucleon" compile quantized.pt2 --timings -o timed.pte
holds "timings are printed" 'grep -q total out'
holds "timings have the run of the finished program" 'grep -q rehearse out'
good "output of a path with spaces" compile "$digits/digits.pt2" "box/a b.pte"
rm -f "box/a b.pte"

# ---- inspection in other forms ----

# json_error CODE NAME ARGUMENTS...: fails with that code, and says why in JSON and on standard error.
json_error() {
    wanted=$1
    name=$2
    shift 2
    "$nucleon" "$@" >out 2>err
    code=$?
    [ $code -eq "$wanted" ] || fail "$name: exit code $code instead of $wanted"
    grep -qF " \"error\": {\"code\": $wanted, \"message\": \"" out || fail "$name: no error in the JSON: $(tail -n 3 out)"
    [ "$(wc -l <err)" -eq 1 ] || fail "$name: not one line on standard error"
    [ "$(head -n 2 out)" = "{
 \"schema\": 1," ] || fail "$name: no object"
}

good "inspect an archive as JSON" "$nucleon" inspect "$digits/digits.pt2" --json
holds "JSON of an archive" 'grep -q "\"target\": \"aten.conv2d.default\"" out && [ "$(tail -n 1 out)" = "}" ]'
cp out first
good "inspect an archive as JSON again" "$nucleon" inspect "$digits/digits.pt2" --json
holds "the same JSON" 'cmp -s first out'
good "inspect an archive as dot" "$nucleon" inspect "$digits/digits.pt2" --dot
holds "dot of an archive" '[ "$(head -n 1 out)" = "digraph model {" ] && grep -q " -> " out'
for part in parts/*_pure.et.tflite; do
    good "inspect $part as JSON" "$nucleon" inspect "$part" --json
    holds "JSON of a LiteRT model" 'grep -q "\"operator\": \"CONV_2D\"" out'
    good "inspect $part as dot" "$nucleon" inspect "$part" --dot
    holds "dot of a LiteRT model" 'grep -q "label=\"CONV_2D\"" out'
done
good "inspect a program as JSON" "$nucleon" inspect digits.pte --json --disassemble
holds "JSON of a program" 'grep -q "\"backend\": \"NeutronBackend\"" out && grep -q "\"disassembly\"" out'
good "inspect a program as dot" "$nucleon" inspect digits.pte --dot
holds "dot of a program" 'grep -q "^  subgraph cluster_1 {" out && grep -q "^  input0 -> i0 " out'
"$nucleon" inspect digits.pte --disassemble | grep -A 3 '^call ' >calls
good "take the models out of a program" "$nucleon" inspect digits.pte --tflite taken
holds "the model is named" '[ "$(cat out)" = taken/npu_1.tflite ]'
good "inspect a model that was taken out" "$nucleon" inspect taken/npu_1.tflite --disassemble
holds "it has the kernel calls of the program" 'grep -A 3 "^call " out | cmp -s - calls'
bad 1 "a LiteRT model is no program to take one out of" "$nucleon" inspect taken/npu_1.tflite --tflite again
holds "the remedy is named" 'grep -q "is a LiteRT model" err'
"$nucleon" compile "$digits/digits.pt2" --no-quantize -o float.pte >out 2>err
bad 1 "nothing on the NPU, nothing to take out" "$nucleon" inspect float.pte --tflite again
holds "no folder is left" '[ ! -e again ]'
json_error 2 "two forms at once" inspect digits.pte --dot --json
json_error 1 "something else as JSON" inspect "$digits/test.npz" --json
json_error 2 "no such option" compile --jsom --json
json_error 2 "no such command" compilo --json
json_error 1 "no such file" evaluate digits.pte --dataset nowhere --json
good "help is text" "$nucleon" compile --json --help
holds "help is text" 'grep -q "^usage: nucleon compile" out'

# ---- folders of images ----

mkdir -p images classes/0 classes/1 nested/empty odd
png images/b.png
png images/a.PNG
cp images/b.png classes/0/1.png
cp images/b.png classes/1/1.png
cp images/b.png classes/1/2.png
echo "no image" >odd/a.png
good "calibrate with images" compile "$digits/digits.pt2" images.pte images
good "run with images" "$nucleon" run images.pte --input images
holds "a line an image" '[ "$(wc -l <out)" -eq 2 ]'
good "evaluate with classes" "$nucleon" evaluate images.pte --dataset classes --reference "$digits/digits.pt2"
holds "classes are labels" 'grep -q "program accuracy.*of 3)" out'
holds "and have the names of their folders" 'grep -q "^0 0 " out && grep -q "^1 1 " out'
good "images normalized and resized" "$nucleon" run images.pte --input images --mean 0.5 --std 0.25 --resize crop \
    --unlike-calibration
bad 2 "images prepared otherwise than in calibration" "$nucleon" run images.pte --input images --mean 0.5
holds "which says how" 'grep -q "is not that of the calibration, 0: leave it out" err'
bad 2 "a mean that is not a number" "$nucleon" run images.pte --input images --mean 0.5,half
bad 2 "four means" "$nucleon" run images.pte --input images --mean 1,2,3,4
bad 2 "more means than channels" "$nucleon" run images.pte --input images --mean 1,2,3
bad 2 "std of zero" "$nucleon" run images.pte --input images --std 0
bad 2 "an unknown way to resize" "$nucleon" run images.pte --input images --resize best
bad 1 "a file that is not an image" "$nucleon" run images.pte --input odd
bad 1 "folders without images" "$nucleon" run images.pte --input nested
for percent in 0 10 30 60 90; do
    head -c $((140 * percent / 100)) images/b.png >odd/a.png
    bad 1 "an image cut at $percent %" "$nucleon" run images.pte --input odd
done

# ---- bad models ----

model=$digits/digits.pt2
size=$(wc -c <"$model")
echo "no archive at all" >text.pt2
: >empty.pt2
echo old >box/kept.pte
bad 1 "not a zip" compile text.pt2 box/kept.pte
bad 1 "an empty file" compile empty.pt2 box/kept.pte
bad 1 "no such file" compile nowhere.pt2 box/kept.pte
bad 1 "a folder as model" compile "$digits" box/kept.pte
bad 1 "a data set as model" compile "$digits/calibration.npz" box/kept.pte
bad 1 "a program as model" compile digits.pte box/kept.pte
percent=0
while [ $percent -lt 100 ]; do
    head -c $((size * percent / 100)) "$model" >cut.pt2
    bad 1 "archive cut at $percent %" compile cut.pt2 box/kept.pte
    percent=$((percent + 1))
done

# A field that is missing, one of a wrong type, a size beyond the weights' bytes; '@' stands for a space.
while read -r old new; do
    old=$(echo "$old" | tr @ ' ')
    new=$(echo "$new" | tr @ ' ')
    replace "$model" patched.pt2 "$old" "$new"
    bad 1 "model with $new instead of $old" compile patched.pt2 box/kept.pte
done <<'FIELDS'
"graph_module" "graph_moduli"
"tensor_values" "tensor_valueZ"
"sizes" "sizeZ"
"dtype" "dtypE"
"strides" "strideZ"
"nodes" "nodeZ"
"target" "targeT"
"input_specs" "input_specZ"
"output_specs" "output_specZ"
"signature" "signaturE"
"parameter_name" "parameter_namE"
"schema_version" "schema_versioN"
"path_name" "path_namE"
"config" "confiG"
"major":@8 "major":@9
"dtype":@7 "dtype":@x
"dtype":@7 "dtype":@9
"as_int":@16 "as_int":@""
"as_int":@16 "as_int":@-1
"as_int":@16 "as_int":@99
"as_ints":@\[1 "as_ints":@{1
"as_ints":@\[1 "as_ints":@[0
"name":@"conv2d" "name":@"conv2x"
aten\.conv2d aten.conv2x
"arg":@{"as_tensor" "arg":@{"as_tensoR"
FIELDS
# Every size of 16 becomes 96: the weights' entries are shorter than their tensors.
sed 's/"as_int": 16/"as_int": 96/g' "$model" >patched.pt2
bad 1 "weights shorter than their tensors" compile patched.pt2 box/kept.pte
rm -f patched.pt2

# ---- bad calibration ----

npy shape.npy '<f4' '(4, 1, 9, 8)' 1152
npy dtype.npy '<i4' '(4, 1, 8, 8)' 1024
npy none.npy '<f4' '(0, 1, 8, 8)' 0
npy short.npy '<f4' '(4, 1, 8, 8)' 1000
npy huge.npy '<f4' '(1099511627776, 1, 8, 8)' 1024
npy object.npy '|O' '(4, 1, 8, 8)' 2048
npy negative.npy '<f4' '(-4, 1, 8, 8)' 1024
npy fine.npy '<f4' '(4, 1, 8, 8)' 1024
good "calibration from one .npy" compile "$model" one.pte fine.npy
bad 2 "float model without calibration" "$nucleon" compile "$model" -o box/kept.pte
bad 1 "calibration file missing" compile "$model" box/kept.pte nowhere.npz
for data in shape dtype none short huge object negative; do
    bad 1 "calibration $data.npy" compile "$model" box/kept.pte $data.npy
done
bad 1 "calibration is not an array" compile "$model" box/kept.pte text.pt2
mkdir nothing
bad 1 "calibration from an empty folder" compile "$model" box/kept.pte nothing
data_size=$(wc -c <"$digits/calibration.npz")
for percent in 0 1 10 50 90 99; do
    head -c $((data_size * percent / 100)) "$digits/calibration.npz" >cut.npz
    bad 1 "calibration cut at $percent %" compile "$model" box/kept.pte cut.npz
done

echo old >box/kept.pt2
bad 2 "nodes of a float model" "$nucleon" evaluate again.pte --dataset "$digits/test.npz" \
    --reference "$digits/digits.pt2" --quantized "$digits/digits.pt2"
bad 2 "nodes without a reference" "$nucleon" evaluate again.pte --dataset "$digits/test.npz" --quantized quantized.pt2
bad 2 "quantize twice" "$nucleon" quantize quantized.pt2 --calibration "$digits/calibration.npz" -o box/kept.pt2
bad 2 "quantize without calibration" "$nucleon" quantize "$model" -o box/kept.pt2
bad 2 "quantize without an output" "$nucleon" quantize "$model" --calibration fine.npy
bad 1 "quantize with a wrong shape" "$nucleon" quantize "$model" --calibration shape.npy -o box/kept.pt2
bad 1 "quantize something else" "$nucleon" quantize text.pt2 --calibration fine.npy -o box/kept.pt2
bad 1 "quantize what is not there" "$nucleon" quantize nowhere.pt2 --calibration fine.npy -o box/kept.pt2
bad 1 "quantize to a missing folder" "$nucleon" quantize "$model" --calibration "$digits/calibration.npz" -o box/none/x.pt2
holds "a failed quantize leaves the output as it was" '[ "$(cat box/kept.pt2)" = old ]'

# ---- bad options and outputs ----

bad 2 "unknown target" "$nucleon" compile "$model" --target imxrt7000 --calibration fine.npy -o box/kept.pte
bad 2 "unknown converter flavor" "$nucleon" compile "$model" --converter-flavor sdk-9 --calibration fine.npy -o box/kept.pte
good "what can be dumped" "$nucleon" compile --dump-after help
cp out points
holds "stages and passes are listed, each once" \
    'grep -q "^partition$" points && grep -q "^  separate-leading$" points && [ -z "$(sort points | uniq -d)" ]'
good "dumped after all stages" "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" \
    --accuracy fast --dump-after all -o again.pte
grep "^== " out >stages
holds "stages in the order of the list" '[ "$(cut -c 4- stages)" = "$(grep -v "^ " points | grep -Fx "$(cut -c 4- stages)")" ]'
for point in fold-batch-norm merge-quantize separate-trailing delegate; do
    good "dumped after $point" "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" \
        --accuracy fast --dump-after $point -o again.pte
    holds "$point: only that" 'grep -q "^== $point$" out && ! grep "^== " out | grep -qv "^== $point$"'
done
bad 2 "unknown stage to dump" "$nucleon" compile "$model" --dump-after nothing --calibration fine.npy -o box/kept.pte
bad 2 "no output named" "$nucleon" compile "$model" --calibration fine.npy
bad 1 "output folder is missing" compile "$model" box/none/x.pte
bad 1 "output is a folder" compile "$model" nothing
bad 1 "intermediates folder is a file" "$nucleon" compile "$model" --intermediates-dir text.pt2/x \
    --calibration "$digits/calibration.npz" -o box/kept.pte
mkdir locked
chmod a-w locked
if ! touch locked/x 2>/dev/null; then
    bad 1 "output folder is not writable" compile "$model" locked/x.pte
fi
if [ -e /dev/full ]; then
    bad 1 "output on a full device" "$nucleon" compile "$model" --calibration "$digits/calibration.npz" -o /dev/full
    holds "a device file stays what it is" '[ -c /dev/full ]'
fi
holds "a failed compile leaves the output as it was" '[ "$(cat box/kept.pte)" = old ]'

# ---- bad programs ----

program_size=$(wc -c <digits.pte)
at=0
while [ $at -lt 100 ]; do
    head -c $((program_size * at / 100)) digits.pte >cut.pte
    bad 1 "inspect a program cut at $at %" "$nucleon" inspect cut.pte
    bad 1 "run a program cut at $at %" "$nucleon" run cut.pte --input fine.npy --output box/kept.npz
    at=$((at + 1))
done
at=0
while [ $at -lt 60 ]; do
    offset=$((program_size * at / 60))
    { head -c $offset digits.pte; printf '\377\377'; tail -c +$((offset + 3)) digits.pte; } >patched.pte
    either "inspect a program damaged at $offset" "$nucleon" inspect patched.pte --disassemble
    either "run a program damaged at $offset" "$nucleon" run patched.pte --input fine.npy
    at=$((at + 1))
done
bad 1 "run something else" "$nucleon" run text.pt2 --input fine.npy
bad 1 "run an empty file" "$nucleon" run empty.pt2 --input fine.npy
bad 1 "run what is not there" "$nucleon" run nowhere.pte --input fine.npy
bad 1 "run a folder" "$nucleon" run nothing --input fine.npy
bad 1 "inspect a folder" "$nucleon" inspect nothing
bad 1 "inspect what is not there" "$nucleon" inspect nowhere.pte
bad 1 "inspect something else" "$nucleon" inspect text.pt2
bad 1 "inspect an empty file" "$nucleon" inspect empty.pt2
bad 2 "run without input" "$nucleon" run digits.pte
bad 2 "evaluate without data" "$nucleon" evaluate digits.pte
npy channels.npy '<f4' '(4, 8, 8, 1)' 1024
for data in shape dtype short none huge object channels; do
    bad 1 "run with input $data.npy" "$nucleon" run digits.pte --input $data.npy --output box/kept.npz
    bad 1 "evaluate with $data.npy" "$nucleon" evaluate digits.pte --dataset $data.npy
done
bad 1 "run to a missing folder" "$nucleon" run digits.pte --input fine.npy --output box/none/x.npz
good "run with one .npy" "$nucleon" run digits.pte --input fine.npy

# ---- options that contradict each other or do nothing ----

cp "$digits/digits.pt2" box/model.pt2
ln -s model.pt2 box/link.pt2
bad 2 "an output that is the model" "$nucleon" compile box/model.pt2 -o box/link.pt2 --calibration "$digits/calibration.npz"
holds "both are named" 'grep -q "the model and --output are the same file" err'
cp segment.pte box/kept.pte
bad 2 "a memory map that is the program" "$nucleon" compile "$digits/digits.pt2" -o box/x.pte --memory-map box/x.pte \
    --calibration "$digits/calibration.npz"
bad 2 "quantized over its model" "$nucleon" quantize box/model.pt2 -o box/model.pt2 \
    --calibration "$digits/calibration.npz"
bad 2 "results over the program" "$nucleon" run box/kept.pte --input "$digits/test.npz" -o box/kept.pte
bad 2 "converted over itself" "$nucleon" convert --input box/kept.pte --output ./box/kept.pte
rm box/kept.pte box/model.pt2 box/link.pt2
for option in --memory-budget --converter-timeout; do
    bad 2 "$option of zero" "$nucleon" compile "$digits/digits.pt2" -o box/x.pte $option 0
    holds "says from where to where" 'grep -q "takes a number from 1 to " err'
done
bad 2 "an empty output" "$nucleon" compile "$digits/digits.pt2" -o '' --calibration "$digits/calibration.npz"
bad 2 "an empty folder" "$nucleon" codegen digits.pte -o ''
bad 2 "an empty model" "$nucleon" compile '' -o box/x.pte
bad 2 "nothing to convert for" "$nucleon" convert --input x.tflite --output box/x.tflite --target cortex-m33
bad 2 "quantized for an unknown target" "$nucleon" quantize "$digits/digits.pt2" -o box/x.pt2 --target nothing \
    --calibration "$digits/calibration.npz"
bad 1 "a program compiled" "$nucleon" compile digits.pte -o box/x.pte
holds "says what a model is" 'grep -q "neither a torch.export archive (.pt2) nor a LiteRT model (.tflite)" err'
good "a target without NPU" "$nucleon" compile "$digits/digits.pt2" -o m33.pte --target cortex-m33 --accuracy fast \
    --calibration "$digits/calibration.npz"
holds "reports no NPU, converter or scratch" \
    'grep -q "^  placement CPU .*: the target has no NPU$" out && ! grep -Eq "scratch|made by" out && [ ! -s err ]'
good "its options of the NPU" "$nucleon" compile "$digits/digits.pt2" -o again.pte --target cortex-m33 \
    --converter false --plan-delegate-scratch --placement greedy --accuracy fast --calibration "$digits/calibration.npz"
holds "notes what does nothing" \
    'grep -q -e "--converter, --plan-delegate-scratch, --placement: without effect, target cortex-m33 has no NPU" err ||
        grep -q -e "--placement.*: without effect, target cortex-m33 has no NPU" err && [ "$(wc -l <err)" -eq 1 ] &&
        cmp -s m33.pte again.pte'
good "how to quantize what is quantized" "$nucleon" compile quantized.pt2 -o again.pte --observer mse --weights per-tensor
holds "is noted, too" 'grep -q -e "--observer, --weights: without effect" err'
good "nothing delegated" "$nucleon" compile quantized.pt2 -o again.pte --no-delegate --delegate-data segment
holds "is reported" 'grep -q "^  placement CPU .*: nothing is delegated$" out && grep -q "without effect, nothing is delegated" err'

holds "no temporary file is left" '[ -z "$(ls -A tmp)" ]'
echo "$passes passed, $failures failed"
[ $failures -eq 0 ]

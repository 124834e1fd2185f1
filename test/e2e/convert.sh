#!/bin/sh
# LiteRT models and converters as a user meets them: convert.sh NUCLEON SOURCE_ROOT.
# The same program whichever way the converter is called; every way in which another converter can fail ends with exit
# code 1, one line on standard error, no output and nothing left behind.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
models=$root/test/fuzz/corpus/litert
TMPDIR=$work/tmp
export TMPDIR
mkdir tmp bin

has() { grep -q -- "$1" "$2"; }

# refused NAME TEXT CONVERTER [OPTION...]: compiling with that converter fails and says so.
refused() {
    name=$1
    text=$2
    converter=$3
    shift 3
    "$nucleon" compile "$models/conv.tflite" --placement greedy -o refused.pte --converter "$converter" "$@" >out 2>err
    code=$?
    check "$name: exit code $code, not 1: $(head -c 300 err)" [ $code -eq 1 ]
    check "$name: says one line" [ "$(wc -l <err)" -eq 1 ]
    check "$name: '$text' is not in: $(head -c 400 err)" has "$text" err
    check "$name: writes no program" [ ! -e refused.pte ]
    check "$name: leaves nothing behind" [ -z "$(ls -A tmp)" ]
}

# fake NAME: a converter from standard input; $in and $out are its files.
fake() {
    {
        printf '#!/bin/sh\nwhile [ $# -gt 0 ]; do\ncase $1 in --input) in=$2 ;; --output) out=$2 ;; --target) target=$2 ;; esac\n'
        printf 'shift 2\ndone\n'
        cat
    } >"bin/$1"
    chmod +x "bin/$1"
}

# ---- models as input of compile ----

for model in conv conv2d linear_relu_linear max_pool2d_cl relu_softmax_add; do
    check "compile $model" "$nucleon" compile "$models/$model.tflite" -o "$model.pte" --placement greedy >/dev/null
    "$nucleon" compile "$models/$model.tflite" -o again.pte --placement greedy --converter "$nucleon convert" >out 2>&1
    check "$model: the converter as a command gives another program" cmp -s "$model.pte" again.pte
    check "$model: does not say who converted it" has "^  made by .*nucleon convert: runs on the simulator" out
done

# The compiler of NXP's Python package, through its adapter: here a package of that shape around nucleon's.
mkdir -p python/eiq_neutron_sdk
: >python/eiq_neutron_sdk/__init__.py
cat >python/eiq_neutron_sdk/neutron_library_utils.py <<'END'
class Target:
    name = "imxrt700"

def getNeutronTargets():
    return [Target()]

def isNeutronTarget(name):
    return name == "imxrt700"
END
cat >python/eiq_neutron_sdk/neutron_converter.py <<'END'
import os
import subprocess

class Options:
    pass

class CompilationContext:
    def __init__(self):
        self.compilationOpts = Options()

def getNeutronTarget(name):
    return name

def convertModel(model, context):
    with open("package_in.tflite", "wb") as file:
        file.write(bytes(model))
    with open("package_options", "w") as file:
        file.write(repr(sorted(vars(context.compilationOpts).items())))
    command = [os.environ["NUCLEON"], "convert", "--input", "package_in.tflite", "--output", "package_out.tflite"]
    subprocess.run(command + ["--target", context.targetOpts, "--quiet"], check=True)
    with open("package_out.tflite", "rb") as file:
        return list(file.read())
END
adapter="/usr/bin/python3 $root/tools/eiq_converter.py"
export NUCLEON="$nucleon" PYTHONPATH="$work/python" PYTHONDONTWRITEBYTECODE=1
"$nucleon" compile "$models/conv.tflite" -o again.pte --placement greedy --converter "$adapter" >out 2>&1
check "the package's converter gives another program" cmp -s conv.pte again.pte
check "the package is not given the backend's options" has "'fetchConstantsToSRAM', False" package_options
"$nucleon" compile "$models/conv.tflite" --placement greedy -o again.pte --converter "$adapter --fetch-constants-to-sram" >out 2>&1
check "the package is not given an option" has "'fetchConstantsToSRAM', True" package_options
# The names of the package since SDK 3.2.2.
sed 's/def convertModel/def compileModel/' python/eiq_neutron_sdk/neutron_converter.py >python/eiq_neutron_sdk/neutron_compiler.py
rm python/eiq_neutron_sdk/neutron_converter.py
"$nucleon" compile "$models/conv.tflite" -o again.pte --placement greedy --converter "$adapter" >out 2>&1
check "the package with its newer names gives another program" cmp -s conv.pte again.pte
check "an unknown target" [ "$($adapter --input x --output y --target other 2>&1)" = \
    "eiq_converter.py: the package does not know target 'other': imxrt700" ]
PYTHONPATH=
"$nucleon" compile "$models/conv.tflite" --placement greedy -o again.pte --converter "$adapter" >out 2>&1
check "without the package the message does not say how to get it" has "pip install" out
unset PYTHONPATH

check "explain conv" "$nucleon" explain "$models/conv.tflite" >out
check "explain names the source" has 'conv.tflite:0' out
"$nucleon" compile "$models/custom.tflite" -o no.pte >out 2>err
check "converted models are no input" has "'NeutronGraph': the model was compiled by the Neutron converter" err

# The channels of each pixel come first: the program's input says so, and so does the value inside.
"$nucleon" inspect conv2d_cl.pte >/dev/null 2>&1
"$nucleon" compile "$models/conv2d_cl.tflite" --placement greedy -o order.pte >/dev/null
"$nucleon" inspect order.pte >out
check "images are channels-last" has 'channels-last' out
check "inputs have the model's own sizes" has '%0: int8\[1, 12, 10, 13\] dim order \[0, 1, 2, 3\]' out
check "int8 boundaries report their scales" has "method 'input0_scale'" out

# ---- float models ----

check "a float model in float" "$nucleon" compile "$models/float_conv_i8" -o float.pte --no-quantize >/dev/null
"$nucleon" inspect float.pte >out
check "float inputs have the model's own sizes" has '%0: float32\[1, 7, 6, 3\] dim order \[0, 1, 2, 3\]' out
"$nucleon" compile "$models/float_conv_i8" -o no.pte >out 2>err
check "a float model needs samples" has 'is a float model: give samples' err

# ---- archives ----

"$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o a.pte >out
check "builtin is said" has "made by   nucleon's converter" out
"$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o b.pte --converter builtin >/dev/null
"$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o c.pte \
    --converter "$nucleon convert" >/dev/null
check "builtin is the default" cmp -s a.pte b.pte
check "digits through the command is another program" cmp -s a.pte c.pte
mkdir here there
"$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o a.pte --intermediates-dir here >out
"$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o a.pte --intermediates-dir there \
    --converter "$nucleon convert" >out
check "partition files" [ "$(ls here)" = "$(ls there)" ]
for file in here/*_pure.et.tflite; do
    check "$file is the same" cmp -s "$file" "there/${file#here/}"
done

# ---- convert ----

for model in "$models"/*.tflite; do
    base=${model##*/}
    case $base in custom.tflite | constant_output.tflite) continue ;; esac # no operator of theirs is converted
    "$nucleon" convert --input "$model" --output "n_$base" --target imxrt700 >out 2>err
    check "convert $base: $(head -c 200 err)" [ $? -eq 0 ]
    check "$base says who converted it" has "made by   nucleon's converter" out
    "$nucleon" convert --input "$model" --output again.tflite >/dev/null
    check "$base: other bytes" cmp -s "n_$base" again.tflite
    "$nucleon" inspect "n_$base" --disassemble >out
    check "$base: inspect names the graph" has "NeutronGraph 'subgraph_000', operator 0, container version 1" out
    check "$base: inspect names the converter" has 'converter nucleon: runs on its simulator' out
    check "$base: inspect lists calls" has '^call 0: ' out
done
check "inspect as JSON" "$nucleon" inspect n_conv.tflite --json >out
check "JSON has the graph" has '"neutron_graphs"' out
"$nucleon" convert --input n_conv.tflite --output twice.tflite --verbose >out
check "converting twice changes nothing" has "0 of 1 operators in 0 NeutronGraphs" out
check "a converted operator stays outside" has "outside   operator 0 (CUSTOM): custom operator 'NeutronGraph'" out
"$nucleon" convert --input "$models/softmax.tflite" --output none.tflite --target mcxn947 --verbose >out 2>err
check "a kernel that the firmware lacks" has "operator 0 (SOFTMAX): the NPU of mcxn947 has no kernel for it" out
"$nucleon" convert --input "$models/conv.tflite" --output no.tflite --target mcxn94x --fetch-constants-to-sram 2>err
check "weights in flash that the NPU reads" has "the NPU of mcxn947 reads weights in flash" err
"$nucleon" compile "$models/conv.tflite" --target mcxn947 --placement greedy -o mcxn.pte >out 2>&1
"$nucleon" compile "$models/conv.tflite" --target mcxn947 --placement greedy -o again.pte \
    --converter "$nucleon convert" >out 2>&1
check "mcxn947: the converter as a command gives another program" cmp -s mcxn.pte again.pte
"$nucleon" convert --input "$models/linear_relu_linear.tflite" --output few.tflite --min-num-ops-per-graph 100 >out
check "groups of few operators stay" has " in 0 NeutronGraphs" out
"$nucleon" convert --input "$models/conv.tflite" --output no.tflite --target mcx 2>err
check "unknown target" has "unknown target 'mcx'" err
"$nucleon" convert --input "$models/conv.tflite" 2>err
check "convert without --output is bad usage" [ $? -eq 2 ]
"$nucleon" convert --input "$digits/digits.pt2" --output no.tflite 2>err
check "an archive is not a LiteRT model" has "is a torch.export archive (.pt2), not a LiteRT model" err
check "failed conversions write nothing" [ ! -e no.tflite ]

# ---- converters that fail ----

refused "missing program" 'cannot be started: No such file' "$work/bin/none"
fake crash <<'X'
kill -SEGV $$
X
refused "crash" 'was ended by signal 11' "$work/bin/crash"
fake fails <<'X'
echo 'first line' >&2
echo 'no license' >&2
exit 7
X
refused "exit code" 'ended with code 7: first line; no license' "$work/bin/fails"
fake hang <<'X'
echo working
sleep 1000 &
sleep 1000
X
refused "hang" 'is not done after 1 s and was ended: raise the time limit: working' "$work/bin/hang" \
    --converter-timeout 1
fake silent <<'X'
exit 0
X
refused "no output" 'wrote no output file' "$work/bin/silent"
fake empty <<'X'
: >"$out"
X
refused "empty output" "output of converter '.*': not a LiteRT file" "$work/bin/empty"
fake garbage <<'X'
head -c 4096 /dev/urandom >"$out"
X
refused "garbage" "output of converter '.*': not a LiteRT file" "$work/bin/garbage"
fake cut <<X
"$nucleon" convert --input "\$in" --output "\$out" && head -c 400 "\$out" >"\$out.cut" && mv "\$out.cut" "\$out"
X
refused "cut off" "output of converter" "$work/bin/cut"
fake same <<'X'
cp "$in" "$out"
X
refused "nothing converted" 'the converted model has .* instead of 1: ' "$work/bin/same"
fake other <<X
cp "$work/n_linear.tflite" "\$out"
X
refused "another model's graph" "is not one of the partition's" "$work/bin/other"
fake foreign <<X
"$nucleon" convert --input "\$in" --output "\$out" && sed 's/nMCd/nMCe/' "\$out" >"\$out.x" && mv "\$out.x" "\$out"
X
refused "no microcode" 'the magic number is missing' "$work/bin/foreign"
fake leaves <<X
sleep 1000 &
"$nucleon" convert --input "\$in" --output "\$out" --target "\$target"
X
"$nucleon" compile "$models/conv.tflite" --placement greedy -o leaves.pte --converter "$work/bin/leaves" >/dev/null
check "a converter that leaves a process behind" cmp -s leaves.pte conv.pte
# A converter may match tensors by name, also where layouts are tried.
fake unique <<X
"$nucleon" inspect "\$in" | sed -n "s/^  %[0-9]* .* '\\(.*\\)'$/\\1/p" | sort >names
[ -s names ] && [ -z "\$(uniq -d names)" ] && "$nucleon" convert --input "\$in" --output "\$out" --target "\$target"
X
check "names are unique in trials, too" "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" \
    --dim-order auto -o unique.pte --converter "$work/bin/unique" >/dev/null
mkdir 'bin/with space'
cp bin/leaves 'bin/with space/converter'
"$nucleon" compile "$models/conv.tflite" --placement greedy -o space.pte --converter "$work/bin/with space/converter" >/dev/null
check "a converter with a space in its path" cmp -s space.pte conv.pte

# Microcode that is not nucleon's is taken as it is, and the summary and inspect say so.
fake vendor <<X
"$nucleon" convert --input "\$in" --output "\$out" && sed 's/\\(nMCd\\).\\(...\\)/\\1\\x7f\\2/' "\$out" >"\$out.x" &&
    mv "\$out.x" "\$out"
X
"$nucleon" compile "$models/conv.tflite" --placement greedy -o vendor.pte --converter "$work/bin/vendor" >out 2>err
check "other microcode is taken: $(head -c 300 err)" [ -s vendor.pte ]
check "the summary says where it runs" has 'not for the simulator' out
"$nucleon" inspect vendor.pte >out
check "inspect says that it is another's" has "converter another one than nucleon's" out
check "nothing is left behind" [ -z "$(ls -A tmp)" ]

# Sizes that a file leaves open are inferred by compiling; converting takes what the file states.
python3 -c "import struct, sys; data = open(sys.argv[1], 'rb').read()
for columns in (4, 9): data = data.replace(struct.pack('<3i', 2, 1, columns), struct.pack('<3i', 2, -1, columns))
open('open.tflite', 'wb').write(data)" "$root/test/fuzz/corpus/container/plain_linear.tflite"
check "a size that is open is inferred" "$nucleon" compile open.tflite -o open.pte >/dev/null
"$nucleon" convert -i open.tflite -o converted.tflite 2>err
check "convert says which size is open: $(head -c 300 err)" has 'a size of tensor .* is not known' err
check "convert writes nothing then" [ ! -e converted.tflite ]

echo "$passes passed, $failures failed"
[ $failures -eq 0 ]

#!/bin/sh
# Mistakes that users make: mistakes.sh NUCLEON SOURCE_ROOT. Each is a row {exit code, part of the message, command}:
# nothing is silent, every message is one line and says what is wrong and what to do; exit code 0 is a note.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
d=$digits

# npy FILE DESCR SHAPE: an .npy file, its elements from standard input.
npy() {
    header="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    { printf '\223NUMPY\001\000\166\000%s\n' "$(printf '%-117s' "$header")"; cat; } >"$1"
}

# repeat COUNT BYTE: in octal.
repeat() { head -c "$1" /dev/zero | tr '\000' "\\$2"; }

# ---- what is there ----

"$nucleon" compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o p.pte >/dev/null || exit 1
"$nucleon" compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o cpu.pte --no-delegate >/dev/null || exit 1
"$nucleon" compile "$root/test/fuzz/corpus/litert/conv2d.tflite" -o litert.pte >/dev/null || exit 1
"$nucleon" compile "$d/digits.pt2" --calibration "$d/calibration.npz" --accuracy fast --self-test 2 -o b.bpte \
    >/dev/null || exit 1
head -c 3000 p.pte >cut.pte
"$nucleon" pack p.pte -o damaged.npk --program-version 1 >/dev/null || exit 1
printf x | dd of=damaged.npk bs=1 seek=5000 conv=notrunc 2>/dev/null
"$nucleon" quantize "$d/digits.pt2" --calibration "$d/calibration.npz" -o quantized.pt2 >/dev/null || exit 1
"$nucleon" convert -i "$root/test/fuzz/corpus/litert/conv2d.tflite" -o converted.tflite >/dev/null || exit 1
mkdir folder saved data_plain data_y data_1 data_255 data_few data_bool data_half
: >empty.pt2
echo hello >text.txt
echo 'import torch' >model.py
printf '\200\002\212\012l\374\234F\371 j\250P\031.' >old.pth
printf '\010\007\022\007pytorch\032\0052.1.0:\012' >model.onnx
printf '\211HDF\r\n\032\n\000\000\000\000' >model.h5
printf '\010\001\022\200\001\022\010' >saved/saved_model.pb
printf '\020\000\000\000\000\000\000\000{"__metadata__":{"format":"pt"}}' >weights.safetensors
printf '\177ELF\001\001\001\000\000\000\000\000\000\000\000\000\002\000\076\000' >host.elf
printf '\037\213\010\000' >model.tgz
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' >lfs.pt2
printf '<!DOCTYPE html><html>' >page.pt2
printf 'RIFF\000\000\000\000WAVEfmt ' >sound.wav
printf 'fLaC' >sound.flac
printf 'GIF89a' >image.gif
printf '\211PNG\r\n\032\n' >image.png
mkfifo pipe
# zip FILE NAME: an archive of one stored, empty entry.
zip_of() {
    n=$(printf '\\%03o' ${#2})
    {
        printf 'PK\003\004\024\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
        # shellcheck disable=SC2059
        printf "$n\\000\\000\\000%s" "$2"
        printf 'PK\001\002\024\000\024\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
        # shellcheck disable=SC2059
        printf "$n\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000%s" "$2"
        # shellcheck disable=SC2059
        printf "PK\\005\\006\\000\\000\\000\\000\\001\\000\\001\\000$(printf '\\%03o' $((46 + ${#2})))"
        # shellcheck disable=SC2059
        printf "\\000\\000\\000$(printf '\\%03o' $((30 + ${#2})))\\000\\000\\000\\000\\000"
    } >"$1"
}
zip_of weights.pth archive/data.pkl
zip_of script.pt script/constants.pkl
zip_of model.keras model.weights.h5
zip_of other.zip README
for f in plain y 1 255 few bool half; do repeat 2048 000 | npy data_$f/input.npy '<f4' '(8, 1, 8, 8)'; done
repeat 8 005 | npy data_y/y.npy '|i1' '(8,)'
repeat 256 000 | npy one.npy '<f4' '(1, 8, 8)'
repeat 512 000 | npy last.npy '<f4' '(2, 8, 8, 1)'
repeat 720 000 | npy first.npy '|i1' '(2, 3, 10, 12)'
{ repeat 252 000; printf '\000\000\300\177'; } | npy nan.npy '<f4' '(1, 1, 8, 8)'
printf '\001\002\003\004\005\006\007\012' | npy data_1/label.npy '|i1' '(8,)'
printf '\001\002\003\377\005\006\007\001' | npy data_255/label.npy '|u1' '(8,)'
repeat 4 001 | npy data_few/label.npy '|i1' '(4,)'
printf '\001\000\001\000\001\000\001\000' | npy data_bool/label.npy '|b1' '(8,)'
repeat 32 077 | npy data_half/label.npy '<f4' '(8,)'
for class in a b; do
    mkdir -p classes/$class && printf 'no image' >classes/$class/1.txt
done

# ---- the table ----

while IFS='|' read -r code part command; do
    code=$(echo $code)
    part=$(echo "$part" | sed 's/^ *//; s/ *$//')
    case $part in *\$d*) part=$(echo "$part" | sed "s|\"\$d\([^\"]*\)\"|$d\1|") ;; esac
    [ -n "$code" ] || continue
    eval "\"\$nucleon\" $command" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$code" ]; then
        fail "$command: exit code $got instead of $code: $(head -c 300 err)"
    elif ! grep -qF -e "$part" err; then
        fail "$command: no '$part' in: $(head -c 500 err)"
    elif [ "$(grep -c '^nucleon: ' err)" -ne 1 ] || { [ $got -ne 0 ] && [ "$(wc -l <err)" -ne 1 ]; }; then
        fail "$command: $(wc -l <err) lines: $(head -c 500 err)"
    else
        passes=$((passes + 1))
    fi
done <<'ROWS'
2 | did you mean 'compile'?                                | complie model.pt2 -o x.pte
2 | the command comes before the file                      | p.pte --input x.npz
2 | did you mean '--calibration'?                          | compile "$d/digits.pt2" --calibrate x.npz -o x.pte
2 | '--target' is an option of compile, tune, quantize, convert, explain, report, run, evaluate, codegen and ops; | inspect p.pte --target imxrt700
2 | did you mean 'cortex-m33'?                             | run p.pte -i "$d/test.npz" --profile --target cortex-m3
0 | --target: without effect, there is neither --profile nor --etdump | run p.pte -i "$d/test.npz" --target cortex-m33 -o out.npz
2 | '--for' is an option of tune;                          | run p.pte --for sqnr
2 | unknown option '--calibratoin', did you mean '--calibration'? That is an option of | run p.pte --calibratoin x.npz
2 | did you mean '--quiet'?                                | run p.pte --quite
2 | options come after it, 'nucleon COMMAND ... --target'  | --target imxrt700 compile
2 | did you mean 'compile'?                                | help complie
2 | did you mean '--calibration "$d/calibration.npz"'?     | compile "$d/digits.pt2" "$d/calibration.npz" -o x.pte
2 | did you mean '-i "$d/test.npz"'?                       | run p.pte "$d/test.npz"
2 | did you mean '-o x.pte'?                               | compile "$d/digits.pt2" x.pte --calibration "$d/calibration.npz"
2 | '-oq' is one argument too many                         | version -- -oq
2 | '-qv' holds several options: write them apart, '-q' first | compile "$d/digits.pt2" -qv -o x.pte
2 | --output needs a value: FILE.pte                       | compile "$d/digits.pt2" -o
2 | --output needs a value: FILE.pte                       | compile "$d/digits.pt2" -o=
2 | --calibration needs a value: DATA, not the option '-ox.pte' | compile "$d/digits.pt2" --calibration -ox.pte
2 | did you mean 'always'?                                 | targets --color alwys
1 | is an archive of arrays (.npz), neither                | compile "$d/calibration.npz" --calibration "$d/digits.pt2" -o x.pte
2 | did you mean 'channels-last'?                          | compile "$d/digits.pt2" --dim-order channels_last -o x.pte
2 | did you mean 'imxrt700'?                               | compile "$d/digits.pt2" --target rt700 -o x.pte
2 | did you mean 'sdk-3.1'?                                | compile "$d/digits.pt2" --converter-flavor SDK3.1 -o x.pte
2 | did you mean 'partition'?                              | compile "$d/digits.pt2" --dump-after partitions -o x.pte
2 | did you mean 'aten.hardswish.default'?                 | compile quantized.pt2 --preserve-ops hardswich -o x.pte
2 | 'conv1' is not PATTERN=int8, PATTERN=int16 or PATTERN=float | compile "$d/digits.pt2" --precision conv1 -o x.pte
2 | no operator, label or module matches 'decoder.*': operators are | compile "$d/digits.pt2" --calibration "$d/calibration.npz" --precision 'decoder.*=int16' -o x.pte
2 | ExecuTorch has no kernels of int16                     | compile "$d/digits.pt2" --activations int16 --executorch-ops-only -o x.pte
2 | the reference has int8 alone                           | compile "$d/digits.pt2" --activations int16 --reference-compat -o x.pte
2 | --activations mixed compares networks: leave --accuracy fast out | compile "$d/digits.pt2" --activations mixed --accuracy fast -o x.pte
2 | the CPU computes in float: leave --cpu float out       | compile "$d/digits.pt2" --activations int16 --cpu float -o x.pte
2 | did you mean 'aten.convolution.default'?               | compile quantized.pt2 --operators-not-to-delegate convolutin -o x.pte
2 | not the option '--target'                              | compile "$d/digits.pt2" -o --target imxrt700
2 | is given twice, as 'a.npz' and as 'b.npz'              | compile "$d/digits.pt2" --calibration a.npz --calibration b.npz -o x.pte
2 | --threads N takes a number, in digits alone            | run p.pte -i "$d/test.npz" --threads -1
2 | such as 65536, 300k or 64Ki, not '64K' (k is 1,000, Ki 1,024; | explain "$d/digits.pt2" --cycle-budget 64K
2 | nothing is written to standard output: give a file's name | compile "$d/digits.pt2" -o -
2 | arrays are written as .npz, which numpy.load() reads | run x.pte -i x.npz -o x.csv
2 | such as 65536, 300k or 64Ki, not '10kb'                | compile "$d/digits.pt2" -o x.pte --memory-budget 10kb
2 | such as 65536, 300k or 64Ki, not '10 K'                | compile "$d/digits.pt2" -o x.pte --memory-budget '10 K'
2 | such as 65536, 300k or 64Ki, not '-1'                  | explain "$d/digits.pt2" --cycle-budget -1
2 | such as 65536, 300k or 64Ki, not '1e3'                 | explain "$d/digits.pt2" --cycle-budget 1e3
2 | such as 65536, 300k or 64Ki, not 'k'                   | explain "$d/digits.pt2" --cycle-budget k
2 | such as 65536, 300k or 64Ki, not '10kB'                | explain "$d/digits.pt2" --cycle-budget 10kB
2 | --cycle-budget takes a number from 0 to                | explain "$d/digits.pt2" --cycle-budget 99999999999G
2 | --memory-budget takes a number from 1 to 1073741824    | compile "$d/digits.pt2" -o x.pte --memory-budget 2Gi
2 | --threads N takes a number, in digits alone, not '2k'  | run p.pte -i "$d/test.npz" --threads 2k
2 | with commas between                                    | run p.pte -i folder --mean '0.485;0.456;0.406'
2 | takes finite numbers                                   | run p.pte -i folder --std 1e999
2 | takes finite numbers                                   | run p.pte -i folder --mean nan
2 | without a unit, not '30dB'                             | evaluate p.pte --dataset "$d/test.npz" --min-sqnr 30dB
2 | percents from 0 to 100                                 | evaluate p.pte --dataset "$d/test.npz" --min-accuracy 950
2 | --cycle-budget takes a number from 0 to                | explain "$d/digits.pt2" --cycle-budget 99999999999999999999
1 | is what torch.save writes (weights, or a pickled module) | compile weights.pth -o x.pte
1 | is a Python pickle                                     | compile old.pth -o x.pte
1 | is a TorchScript archive                               | compile script.pt -o x.pte
1 | is an ONNX model                                       | compile model.onnx -o x.pte
1 | is an HDF5 file                                        | compile model.h5 -o x.pte
1 | is a Keras model                                       | compile model.keras -o x.pte
1 | is a folder of TensorFlow's SavedModel                 | compile saved -o x.pte
1 | is a TensorFlow graph                                  | compile saved/saved_model.pb -o x.pte
1 | is a safetensors file: weights without their network   | compile weights.safetensors -o x.pte
1 | is an ExecuTorch program (.pte), neither               | compile p.pte -o x.pte
1 | is an ELF file, code of a machine                      | compile host.elf -o x.pte
1 | unpack it and give what is in it                       | compile model.tgz -o x.pte
1 | is a zip archive without model or arrays               | compile other.zip -o x.pte
1 | is Python source                                       | compile model.py -o x.pte
1 | is a text                                              | compile text.txt -o x.pte
1 | is empty                                               | compile empty.pt2 -o x.pte
1 | fetch it with 'git lfs pull'                           | compile lfs.pt2 -o x.pte
1 | is a web page                                          | compile page.pt2 -o x.pte
1 | is a folder                                            | compile folder -o x.pte
1 | is not a regular file                                  | compile pipe -o x.pte
1 | is an archive of arrays (.npz), neither                | compile "$d/test.npz" -o x.pte
1 | 'nucleon compile' makes a program of it                | run "$d/digits.pt2" -i "$d/test.npz"
1 | not a LiteRT model (.tflite)                           | convert -i "$d/digits.pt2" -o x.tflite
1 | is a TorchScript archive                               | evaluate p.pte --dataset "$d/test.npz" --reference script.pt
1 | is an ExecuTorch program (.pte), not data              | run p.pte -i p.pte
1 | is a torch.export archive (.pt2), not data             | compile "$d/digits.pt2" --calibration "$d/digits.pt2" -o x.pte
1 | has no chunk 'fmt '                                    | run p.pte -i sound.wav
1 | convert it to a .wav file                              | run p.pte -i sound.flac
1 | it goes after --calibration, --input or --dataset      | compile sound.wav -o x.pte
1 | put it into a folder of its own and give the folder    | run p.pte -i image.png
1 | convert it to PNG                                      | run p.pte -i image.gif
1 | save arrays with numpy.savez                           | run p.pte -i weights.pth
1 | the folder 'none' of --output does not exist           | compile "$d/digits.pt2" --calibration nothing.npz -o none/x.pte
1 | has no member 'treshold' (did you mean 'threshold'?)   | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --decision '{"classes":{"treshold":1}}'
2 | --decision needs a value: FILE.json                    | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --decision ''
1 | give one of: classes, boxes, keypoints, anomaly        | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --decision ' {}'
1 | form: is missing: give one of: ssd, yolo5, yolo8, fomo | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --decision '{"boxes":{}}'
1 | leave --executorch-ops-only out, or --front-end        | compile "$d/digits.pt2" --no-quantize -o x.pte --executorch-ops-only --front-end '{"image":{"format":"grey","width":8,"height":8}}'
1 | with a front end samples are what the sensor gives     | compile "$d/digits.pt2" --calibration data_plain -o x.pte --front-end '{"image":{"format":"grey","width":8,"height":8}}'
1 | no.json: cannot be opened                              | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --decision no.json
2 | [1, 10], rows of at least 5 values belong there        | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --decision '{"boxes":{"form":"yolo8"}}'
2 | --decision: is of output 3                             | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --decision '{"classes":{"outputs":[3]}}'
2 | give samples with --calibration DATA, or a threshold    | compile "$d/digits.pt2" --no-quantize -o x.pte --decision '{"anomaly":{"quantile":0.9}}'
2 | leave --no-metadata out                                | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --no-metadata --decision '{"classes":{}}'
2 | digits.pt2 is no LiteRT model, so it has none: leave    | compile "$d/digits.pt2" --calibration "$d/calibration.npz" -o x.pte --signature serving_default
2 | is a LiteRT model, whose sizes are fixed: leave         | compile "$root/test/fuzz/corpus/litert/conv2d.tflite" -o x.pte --size x.0=3
1 | the folder 'none' of --memory-map does not exist       | compile "$d/digits.pt2" --calibration nothing.npz -o x.pte --memory-map none/m
1 | the folder 'none' of --dump-kernel-selection           | compile "$d/digits.pt2" --calibration nothing.npz -o x.pte --dump-kernel-selection none/m
1 | the folder 'none' of --intermediates-dir               | compile "$d/digits.pt2" --calibration nothing.npz -o x.pte --intermediates-dir none/m/
1 | the folder 'none' of --etdump does not exist           | run p.pte -i nothing.npz --etdump none/x
1 | the folder 'none' of --output does not exist           | codegen nothing.pte -o none/x
1 | the folder 'none' of --project does not exist          | codegen p.pte --project none/x
2 | or --project DIR for a project                         | codegen p.pte
2 | several programs are for --project DIR                 | codegen p.pte p.pte -o src
2 | --program-version N is missing                         | pack p.pte -o p.npk
1 | empty.pt2: has 0 bytes: a signature has 1 to 65536     | pack p.pte -o p.npk --program-version 2 --signature empty.pt2
1 | is damaged: its checksum does not fit: 'nucleon pack'  | inspect damaged.npk
1 | than the file has: copy or compile it again            | pack cut.pte -o p.npk --program-version 2
2 | --profile goes with --input DATA: without it           | run b.bpte --profile
2 | --output goes with --input DATA: without it            | run b.bpte --output x.npz
2 | leave one of them out                                  | codegen p.pte -o src --project firmware
2 | --input is for --project DIR                           | codegen p.pte -o src --input "$d/test.npz"
2 | give one that ends in .c                               | kernels p.pte -o tables
1 | not an ExecuTorch program (.pte)                       | kernels p.pte "$d/digits.pt2" -o tables.c
1 | the folder 'none' of --output does not exist           | tune nothing.pt2 --for sqnr --calibration x -o none/x
1 | it is a folder                                         | compile "$d/digits.pt2" --calibration nothing.npz -o folder
1 | 'text.txt' is not a folder                             | compile "$d/digits.pt2" --calibration nothing.npz -o x.pte --intermediates-dir text.txt
2 | are the same file                                      | compile "$d/digits.pt2" --calibration nothing.npz -o x.pte --memory-map ./x.pte
2 | are the same file                                      | quantize quantized.pt2 --calibration nothing.npz -o folder/../quantized.pt2
2 | --confusion takes labels, '                               | evaluate p.pte --dataset "$d/calibration.npz" --confusion
2 | it takes class labels                                  | evaluate p.pte --dataset data_plain --min-accuracy 90
2 | or a model to compare with, --reference                | evaluate p.pte --dataset "$d/calibration.npz" --task classify
1 | has labels from 1 to 10                                | evaluate p.pte --dataset data_1
1 | leave such labels out with --ignore-label 255          | evaluate p.pte --dataset data_255
1 | for 8 samples of output                                | evaluate p.pte --dataset data_few
1 | with numbers that are not whole                        | evaluate p.pte --dataset data_half
2 | a part and how many there are, 1/4 to 4/4, not '0/0'   | evaluate p.pte --dataset "$d/test.npz" --json --shard 0/0
2 | 1/4 to 4/4, not '3/2'                                  | evaluate p.pte --dataset "$d/test.npz" --json --shard 3/2
2 | 1/4 to 4/4, not 'x/y'                                  | evaluate p.pte --dataset "$d/test.npz" --json --shard x/y
2 | 1/4 to 4/4, not '1/2/3'                                | evaluate p.pte --dataset "$d/test.npz" --json --shard 1/2/3
2 | 1/4 to 4/4, not '1/99999999999999999999'               | evaluate p.pte --dataset "$d/test.npz" --json --shard 1/99999999999999999999
2 | has 360 samples: at most as many shards                | evaluate p.pte --dataset "$d/test.npz" --json --shard 1/361
2 | which takes JSON: give --json, too                     | evaluate p.pte --dataset "$d/test.npz" --shard 1/2
2 | are demanded of all samples: give them to 'nucleon mer | evaluate p.pte --dataset "$d/test.npz" --json --shard 1/2 --min-accuracy 9
2 | an argument is missing; usage: nucleon merge-evaluatio | merge-evaluations
1 | is no evaluation: give what 'nucleon evaluate --shard  | merge-evaluations text.txt
1 | holds no self-test: give the port of a device          | compare-device text.txt
1 | 'ls /dev/tty*' lists ports; or give the file           | compare-device nothing.log
1 | is a folder: give the file in it                       | compare-device .
2 | take 9600, 19200                                       | compare-device text.txt --baud 5
2 | whose name ends in .bpte                               | compile "$d/digits.pt2" --self-test 2 -o x.pte
2 | say how many, from 1 on, with --self-test N            | compile "$d/digits.pt2" -o x.bpte
2 | at most 1000 cases                                     | compile "$d/digits.pt2" --calibration "$d/calibration.npz" --accuracy fast --self-test 1001 -o x.bpte
1 | is no evaluation: give what 'nucleon evaluate --shard  | merge-evaluations "$d/test.npz"
1 | it is one sample: give it an axis of samples in front | run p.pte --input one.npy
1 | it looks channels-last: move its last axis in front     | run p.pte --input last.npy
1 | move axis 1 behind the others, the model takes its      | run litert.pte --input first.npy
1 | has a NaN or an infinity in calibration sample 0 of    | compile "$d/digits.pt2" --calibration nan.npy -o x.pte
0 | is bool, so that only 2 of the 10 classes              | evaluate p.pte --dataset data_bool
0 | array 'y' looks like labels and is not used            | evaluate p.pte --dataset data_y
0 | --mean, --std and --resize are without effect          | run p.pte -i "$d/test.npz" --mean 0.5 -o out.npz
0 | --mean, --std and --resize are without effect          | compile "$d/digits.pt2" --calibration "$d/calibration.npz" --resize crop -o x.pte
0 | --disagreements: without effect                        | evaluate p.pte --dataset "$d/test.npz" --disagreements 3
0 | --threshold: without effect                            | evaluate p.pte --dataset "$d/test.npz" --threshold 30
0 | --accuracy: without effect, --reference-compat         | compile "$d/digits.pt2" --calibration "$d/calibration.npz" --reference-compat --accuracy high -o x.pte
0 | --force-delegate-cat: without effect                   | compile quantized.pt2 --force-delegate-cat -o x.pte
0 | --threads: without effect                              | compile quantized.pt2 --threads 2 -o x.pte
0 | --converter-timeout: without effect                    | compile quantized.pt2 --converter-timeout 5 -o x.pte
0 | what is written there is a .pte file                  | compile quantized.pt2 -o x.tflite
0 | what is written there is a .npz file                  | run p.pte -i "$d/test.npz" -o x.npy
0 | it is a converted model already                        | convert -i converted.tflite -o x.tflite
0 | --disassemble: without effect                          | inspect "$d/digits.pt2" --disassemble
0 | --converter-flavor: without effect                     | ops --markdown --converter-flavor sdk-3.1
ROWS

# ---- firmware_run.sh ----

# firmware PART ARGUMENT...: exit code 1 and that message, before QEMU is looked for.
firmware() {
    part=$1
    shift
    if sh "$root/tools/firmware_run.sh" "$@" >out 2>err || ! grep -qF -e "$part" err; then
        fail "firmware_run.sh $*: no '$part' in: $(head -c 300 err)"
    else
        passes=$((passes + 1))
    fi
}

printf '\177ELF\001\001\001\000\000\000\000\000\000\000\000\000\002\000\050\000' >image.elf
firmware "is not an image (.elf)" p.pte
firmware "for another machine than Arm" host.elf
firmware "cannot be read" none.elf
firmware "is an archive of arrays (.npz)" image.elf "$d/test.npz"
firmware "cannot be read" image.elf none.npy
firmware "is empty" image.elf empty.pt2
firmware "is a program (.pte)" image.elf p.pte
firmware "the folder 'none' does not exist" image.elf text.txt none/out
firmware "is a folder" image.elf text.txt folder
firmware "no paths with commas" image.elf text.txt a,b
firmware "or spaces: rename it" image.elf text.txt "a b"

# ---- standard output that takes nothing, or is closed ----

for command in --help "compile --help" ops targets version "inspect p.pte" "run p.pte -i $d/test.npz" \
    "evaluate p.pte --dataset $d/test.npz" "explain $d/digits.pt2" "compile quantized.pt2 -o x.pte" \
    "compile --dump-after help"; do
    for way in full closed; do
        if [ $way = closed ]; then
            # shellcheck disable=SC2086
            "$nucleon" $command >&- 2>err
        elif [ -c /dev/full ]; then
            # shellcheck disable=SC2086
            "$nucleon" $command >/dev/full 2>err
        else
            continue
        fi
        if [ $? -ne 1 ] || ! grep -q "standard output: cannot be written" err; then
            fail "$command with a $way output: $(head -c 200 err)"
        else
            passes=$((passes + 1))
        fi
    done
done
# A file that is opened does not become the closed standard output.
"$nucleon" compile quantized.pt2 -o y.pte >&- 2>/dev/null
cmp -s x.pte y.pte || fail "a program written with standard output closed"
if [ -c /dev/full ] && "$nucleon" inspect "$d/digits.pt2" --disassemble >/dev/null 2>/dev/full; then
    fail "a note that cannot be written is lost"
fi

# ---- control characters ----

# plain WHAT COMMAND...: its output and messages hold none.
escape=$(printf 's\033]0;x\007\302\233\342\200\256t')
plain() {
    what=$1
    shift
    "$@" >out 2>err
    if tr -d '\n\t' <out | cat - err | tr -d '\n' | grep -q "$(printf '[\001-\037\177]\|\302[\200-\237]\|\342\200[\252-\256]\|\377')"; then
        fail "$what: control characters"
    elif [ ! -s out ] && [ ! -s err ]; then
        fail "$what: silent"
    else
        passes=$((passes + 1))
    fi
}

mkdir "$escape"
for class in "$escape" other; do mkdir -p "by_class/$class"; done
cp "$d/test.npz" "$escape/$escape.npz"
plain "an unknown command" "$nucleon" "$escape"
plain "an unknown option" "$nucleon" compile x "--$escape"
plain "a choice" "$nucleon" compile x.pt2 -o x.pte --accuracy "$escape"
plain "a file" "$nucleon" compile "$escape/none.pt2" -o x.pte
plain "bytes that are no UTF-8" "$nucleon" compile "$(printf 'a\033\377\300\200b')" -o x.pte
plain "the name of a program" "$nucleon" compile quantized.pt2 -o "$escape.pte"
plain "a folder" "$nucleon" compile quantized.pt2 -o "$escape"
# Names in files, of the same length as those they replace.
sed "s/aten::softmax/aten::s$(printf '\033')ftmax/; s/cortex_m::/cortex$(printf '\033')m::/; s/aten::/at$(printf '\033')n::/" \
    cpu.pte >named.pte
plain "an operator in a program" "$nucleon" run named.pte -i "$d/test.npz"
plain "a program described" "$nucleon" inspect named.pte
for file in "$root"/test/fuzz/corpus/litert/*.tflite; do
    sed "s/conv/co$(printf '\033')v/g; s/input/in$(printf '\033')ut/g; s/x/$(printf '\033')/g" "$file" >named.tflite
    "$nucleon" inspect named.tflite >out 2>err
    if tr -d '\n\t' <out | grep -q "$(printf '[\001-\037\177]')"; then fail "inspect of $file: control characters"; fi
done
echo "$passes passed, $failures failed"
[ $failures -eq 0 ]

#!/bin/sh
# peers.sh [-s SECTIONS] [-o FILE] [-w] [MODELS]: speed and memory next to other programs, as Markdown tables.
#
# MODELS is a folder of .tflite files; without it they are those of CHECKOUTS. SECTIONS, between commas: host, m33, int16,
# compile, budget; all by default. -w: writes the tables into bench/README.md, too. What each section needs comes from the
# environment; a part whose peer or tool is missing is left out, which is said:
#
#   CHECKOUTS    a folder with checkouts by git, with files or bare, of github.com/mlcommons/tiny and
#                tensorflow/tflite-micro, whose models are taken, and of ARM-software/CMSIS-NN, where CMSIS_NN names no
#                other; with google/flatbuffers, gemmlowp and ruy the peer of m33 is built of them, too (m33/micro.sh), into
#                the folder MICRO where that is given; what is not there is left out
#   BUILD        build folder with nucleon and bench/; build/release by default
#   PASSES       of every measurement, of which the least is taken; 5 by default
#   PEER         host: a command for `bench --peer` (bench/README.md), for each model with THREADS=1 and THREADS=2;
#                bench/peer_xnnpack of BUILD where it was built
#   PEER_AVX2    host: the same one kept from AVX-512 by INSTRUCTIONS=avx2, next to the path avx2
#   BEFORE       m33, compile: another checkout, built in build/release, which is measured by turns with this one
#   CMSIS_NN     int16: the sources of CMSIS-NN
#   PEER_IMAGE   m33: another peer, a command called as PEER_IMAGE MODEL IMAGE.elf: makes an image for tools/firmware_run.sh
#                that reads samples of its inputs and writes outputs as ours does, with its lines `memory:` and
#                `execution instructions`
#   NETWORKS     compile, budget: folders with NAME.fp32.pt2, NAME.calib.npz and NAME.qdq.pt2
#
# m33 and int16 need arm-none-eabi-gcc and qemu-system-arm. Exit code 0: all was measured. 3: a part was left out. 1: a program
# failed, or gave other bytes than it must.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
sections=host,m33,int16,compile,budget
output=
write=
while getopts s:o:w option; do
    case $option in
    w) write=1 ;;
    s) sections=$OPTARG ;;
    o) output=$OPTARG ;;
    *) sed -n '2s/^# /usage: /p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
checkouts=${CHECKOUTS:-}
if [ $# -gt 1 ] || [ ! -d "${1:-$checkouts}" ]; then sed -n '2s/^# /usage: /p' "$0" >&2; exit 2; fi
build=${BUILD:-$root/build/release}
passes=${PASSES:-5}
nucleon=$build/nucleon
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
code=0
# checked_out NAME PATH FOLDER: the files below PATH of a checkout, into FOLDER.
checked_out() {
    mkdir -p "$3"
    git -C "$checkouts/$1" archive HEAD "$2" 2>/dev/null | tar -x -C "$3" 2>/dev/null
}

# Names of the models of the checkouts, which are long.
if [ -n "${1:-}" ]; then
    models=$1
else
    models=$work/models
    mkdir "$models"
    while read -r name repository file; do
        checked_out "$repository" "$file" "$work/tree" && cp "$work/tree/$file" "$models/$name.tflite"
    done <<END
ad tiny benchmark/training/anomaly_detection/trained_models/ad01_int8.tflite
kws tiny benchmark/training/keyword_spotting/trained_models/kws_ref_model.tflite
person_detect tflite-micro tensorflow/lite/micro/models/person_detect.tflite
resnet8 tiny benchmark/training/image_classification/trained_models/pretrainedResnet_quant.tflite
sww tiny benchmark/training/streaming_wakeword/trained_models/str_ww_ref_model.tflite
vww tiny benchmark/training/visual_wake_words/trained_models/vww_96_int8.tflite
END
    [ -n "$(ls "$models")" ] || { echo "peers.sh: $checkouts: no model is there: clone mlcommons/tiny into it" >&2; exit 2; }
fi
if [ -z "${CMSIS_NN:-}" ] && [ -n "$checkouts" ] && checked_out CMSIS-NN . "$work/CMSIS-NN"; then CMSIS_NN=$work/CMSIS-NN; fi
if [ -z "${PEER_IMAGE:-}" ] && [ -n "$checkouts" ] && [ -e "$checkouts/flatbuffers" ] && [ -e "$checkouts/tflite-micro" ]; then
    PEER_IMAGE=$root/bench/m33/micro.sh
    export NUCLEON="$nucleon" MICRO="${MICRO:-$work/micro}"
fi
if [ -z "${PEER:-}" ] && [ -x "$build/bench/peer_xnnpack" ]; then
    PEER=$build/bench/peer_xnnpack PEER_AVX2=${PEER_AVX2:-$build/bench/peer_xnnpack}
fi
output=${output:-${write:+$work/tables}}
exec 3>&1
[ -z "$output" ] || exec >"$output"

left_out() {
    printf '\nLeft out: %s.\n' "$*"
    [ "$code" -ne 0 ] || code=3
}
failed() {
    printf '\nFailed: %s.\n' "$*"
    code=1
}
wanted() { case ,$sections, in *,$1,*) ;; *) return 1 ;; esac; }
have() { command -v "$1" >/dev/null; }
name_of() { basename "$1" | sed 's/\.[^.]*$//'; }

# columns HEAD...: head and rule of a table; the first column is text.
columns() {
    printf '\n|'
    printf ' %s |' "$@"
    printf '\n|---|'
    shift
    for _ in "$@"; do printf -- '--:|'; done
    printf '\n'
}

# ---- host ----

# host_table FILE: lines of `bench --rows` as a table of microseconds with the ratio to the peer, one row per model.
host_table() {
    awk -F '\t' '
        function column(key) { if (!(key in seen)) { seen[key] = 1; keys[++n] = key } }
        { file = $1; sub(/.*\//, "", file); sub(/\.tflite$/, "", file)
          if (!(file in row)) { row[file] = 1; files[++rows] = file }
          key = $2 ", " $3; column(key); least[file, key] = $4
          if ($2 == "peer" && $7 != "same") other[file] = 1
          if ($2 != "peer" && first == "") first = $2 }
        END {
            printf "\n| us |"; rule = "|---|"
            for (k = 1; k <= n; k++) {
                shown = keys[k]; sub(/, 1$/, "", shown); sub(/, 2$/, ", 2 threads", shown)
                printf " %s |", shown; rule = rule "--:|"
            }
            peer = ("peer, 1" in seen); two = ((first ", 2") in seen)
            if (peer) { printf " to peer |"; rule = rule "--:|" }
            if (two) { printf " 2 to 1 |"; rule = rule "--:|" }
            if (peer) { printf " bytes |"; rule = rule "---|" }
            print "\n" rule
            for (r = 1; r <= rows; r++) {
                f = files[r]; printf "| %s |", f
                for (k = 1; k <= n; k++) printf " %.1f |", least[f, keys[k]]
                if (peer) { q = least[f, first ", 1"] / least[f, "peer, 1"]; sum += log(q); printf " %.2f |", q }
                if (two) printf " %.2f |", least[f, first ", 2"] / least[f, first ", 1"]
                if (peer) printf " %s |", (f in other) ? "other" : "same"
                print ""
            }
            if (peer) printf "\nGeometric mean of the ratios to the peer: %.3f.\n", exp(sum / rows)
        }' "$1"
}

# run_host FILE OPTION...: 1 when bench fails.
run_host() {
    rows=$1
    shift
    "$build/bench/bench" --rows --passes "$passes" "$@" "$models" >"$work/rows" || return 1
    grep '	' "$work/rows" >"$rows"
}

host() {
    printf '\n### Host\n\nMicroseconds of an inference, the least of %s passes by turns.\n' "$passes"
    has_avx512=
    "$build/bench/bench" --path avx512vnni --milliseconds 1 --passes 1 "$models" >/dev/null 2>&1 && has_avx512=1
    set -- --threads 1,2
    if [ -n "${PEER:-}" ]; then set -- "$@" --peer "$PEER"; else left_out "the peer of the host: peer_xnnpack was not built, and PEER names none"; fi
    if run_host "$work/best" --path best "$@"; then host_table "$work/best"; else failed "bench $*"; fi
    [ -n "$has_avx512" ] || return
    set -- --path avx2,plain
    if [ -n "${PEER_AVX2:-}" ]; then set -- "$@" --peer "$PEER_AVX2"; else left_out "the peer with AVX2: PEER_AVX2 names none"; fi
    export INSTRUCTIONS=avx2
    if run_host "$work/avx2" "$@"; then host_table "$work/avx2"; else failed "bench $*"; fi
}

# ---- Cortex-M33 ----

# Bytes of input 0 of a model: int8 of all values, or floats from 0.5 to 1.
sample() {
    "$nucleon" inspect "$1" | awk '
        $1 == "inputs" { input = $2 }
        $1 == input { type = $2; sub(/\[.*/, "", type); sizes = $0; sub(/^[^[]*\[/, "", sizes); sub(/\].*/, "", sizes)
                      n = split(sizes, s, /, */); count = 1; for (i = 1; i <= n; i++) count *= s[i]
                      print type, count; exit }' >"$work/type"
    read -r type count <"$work/type"
    # shellcheck disable=SC2059 # the text is made of escapes
    printf "$(awk -v n="$count" -v type="$type" 'BEGIN {
        x = 1
        for (i = 0; i < n; i++) {
            x = (x * 1103515 + 12345) % 2147483
            if (type == "float32") printf "\\000\\000\\%03o\\077", int(x / 8) % 128
            else printf "\\%03o", int(x / 8) % 256
        } }')"
}

# image_sizes IMAGE: flash without the program, static data.
image_sizes() {
    arm-none-eabi-size -A "$1" | awk '
        $1 ~ /^\.(vectors|text|rodata|ARM\.exidx|data)$/ { code += $2 }
        $1 ~ /^\.(data|bss)$/ { ram += $2 }
        END { print code + 0, ram + 0 }'
}

# measure_image NAME IMAGE: line "INSTRUCTIONS PLANNED OTHER-RAM FLASH" in $work/NAME.m33, outputs in $work/NAME.bin.
measure_image() {
    sh "$root/tools/firmware_run.sh" "$2" "$work/sample" "$work/$1.bin" >"$work/$1.txt" || return 1
    image_sizes "$2" >"$work/sizes"
    read -r code_size static <"$work/sizes"
    sed -n 's/^memory: planned \([0-9]*\), temporary \([0-9]*\), state \([0-9]*\).*/memory \1 \2 \3/p
            s/^execution instructions /run /p' "$work/$1.txt" |
        awk -v flash="$code_size" -v static="$static" '
            $1 == "memory" { planned = $2; other = $3 + $4 + static }
            $1 == "run" { run = $2 }
            END { if (run == "") exit 1; print run, planned, planned + other, flash }' >"$work/$1.m33"
}

# measure_own NAME ROOT NUCLEON CPU: the model by that compiler and those kernels. Texts of errors are left out, as the
# peer's release build leaves them out.
measure_own() {
    "$3" compile "$model" --target "$4" -o "$work/$name.pte" >"$work/log" 2>&1 &&
        CFLAGS=-DNUCLEON_NO_MESSAGES NUCLEON=$3 FIRMWARE_BUILD=$work/firmware_$1 sh "$2/tools/firmware.sh" \
            "$work/$name.pte" >"$work/built" 2>>"$work/log" &&
        measure_image "$1" "$(sed -n 's/^image //p' "$work/built")"
}

# other_column NAME ROOT NUCLEON CPU: instructions of another build of ours, which must give the same bytes.
other_column() {
    if measure_own "$@" && cmp -s "$work/own.bin" "$work/$1.bin"; then
        printf ' %s |' "$(cut -d ' ' -f 1 "$work/$1.m33")"
    else
        printf ' - |'
        code=1
    fi
}

m33_model() {
    model=$1
    name=$(name_of "$model")
    sample "$model" >"$work/sample"
    measure_own own "$root" "$nucleon" cortex-m33 || { failed "$name: $(tail -n 1 "$work/log")"; return; }
    read -r run planned ram flash <"$work/own.m33"
    printf '| %s | %s |' "$name" "$run"
    [ -z "${BEFORE:-}" ] || other_column before "$BEFORE" "$BEFORE/build/release/nucleon" cortex-m33
    other_column m55 "$root" "$nucleon" cortex-m55
    if [ -n "${PEER_IMAGE:-}" ]; then
        if "$PEER_IMAGE" "$model" "$work/peer.elf" >"$work/log" 2>&1 && measure_image peer "$work/peer.elf"; then
            read -r peer_run peer_planned peer_ram peer_flash <"$work/peer.m33"
            same=other
            if cmp -s "$work/own.bin" "$work/peer.bin"; then same=same; fi
            echo "$run $peer_run" >>"$work/ratios"
            printf ' %s | %s | %s |' "$peer_run" "$(awk "BEGIN { printf \"%.3f\", $run / $peer_run }")" "$same"
        else
            peer_planned=- peer_ram=- peer_flash=-
            printf ' - | - | - |'
            code=1
        fi
        printf ' %s | %s | %s | %s | %s | %s |\n' "$planned" "$peer_planned" "$ram" "$peer_ram" "$flash" "$peer_flash"
    else
        printf ' %s | %s | %s |\n' "$planned" "$ram" "$flash"
    fi
    rm -f "$work/$name.pte"
}

m33() {
    printf '\n### Cortex-M33\n\n'
    for tool in arm-none-eabi-gcc qemu-system-arm; do
        have "$tool" || { left_out "the Cortex-M33: $tool is missing"; return; }
    done
    echo 'Instructions of an inference under QEMU, on a Cortex-M55 with its vectors, too, bytes of the arena, of all RAM but'
    echo 'the stack, and of flash without the program and without texts of errors.'
    [ -n "${PEER_IMAGE:-}" ] || left_out "the peer of the Cortex-M33: PEER_IMAGE names none"
    if [ -n "${PEER_IMAGE:-}" ]; then
        columns model instructions ${BEFORE:+before} M55 peer ratio bytes arena peer RAM peer flash peer
    else
        columns model instructions ${BEFORE:+before} M55 arena RAM flash
    fi
    : >"$work/ratios"
    for model in "$models"/*.tflite; do m33_model "$model"; done
    awk '{ sum += log($1 / $2) } END { if (NR) printf "\nGeometric mean of the ratios: %.3f.\n", exp(sum / NR) }' "$work/ratios"
}

# Layers of 16 bits: lines of m33/int16.sh as a table.
int16() {
    printf '\n### Layers of int16\n'
    [ -n "${CMSIS_NN:-}" ] || { left_out "layers of int16: CMSIS_NN names no folder"; return; }
    sh "$root/bench/m33/int16.sh" "$CMSIS_NN" >"$work/int16" || { failed "int16.sh"; return; }
    columns layer instructions CMSIS-NN ratio
    awk '/^[a-z0-9 ]*: / && !/^geometric/ {
        name = $1; for (i = 2; i <= NF - 4; i++) name = name " " $i
        printf "| %s | %s | %s | %s |\n", name, $(NF - 3), $(NF - 2), $(NF - 1) }' "$work/int16"
    sed -n 's/^geometric mean of .*: \(.*\)/\nGeometric mean of the ratios: \1./p' "$work/int16"
}

# ---- compiler ----

# cell COMMAND...: seconds of processors, which what else runs changes least, and MiB.
cell() {
    if "$build/bench/cost" "$passes" "$@" >"$work/cost"; then
        awk '{ printf " %.3f s, %.0f MiB |", $4, $6 / 1024 }' "$work/cost"
    else
        printf ' fails |'
        code=1
    fi
}

compile() {
    printf '\n### Compiler\n\nSeconds of processors, of all threads together, and the most memory at a time: the least of %s passes.\n' "$passes"
    columns 'chain of operators' 'float to .pte' quantize 'quantized to .pte' '.tflite to .pte'
    for kind in ${KINDS:-conv mixed}; do
        for n in 900 3000 9000; do
            if ! "$build/bench/chain" "$kind" "$n" "$work/chain.pt2" "$work/chain.npz" ||
                ! "$build/bench/chain" "$kind" "$n" "$work/chain.tflite"; then
                failed "chain $kind $n"
                continue
            fi
            for by in ${BEFORE:+"$BEFORE/build/release/nucleon"} "$nucleon"; do
                [ "$by" = "$nucleon" ] && printf '| %s, %s |' "$kind" "$n" || printf '| %s, %s, before |' "$kind" "$n"
                cell "$by" compile "$work/chain.pt2" --no-quantize -o "$work/chain.pte"
                cell "$by" quantize "$work/chain.pt2" --calibration "$work/chain.npz" -o "$work/chain_q.pt2"
                cell "$by" compile "$work/chain_q.pt2" -o "$work/chain.pte"
                cell "$by" compile "$work/chain.tflite" -o "$work/chain.pte"
                printf '\n'
            done
        done
    done
    [ -n "${NETWORKS:-}" ] || { left_out "networks of the compiler: NETWORKS names no folder"; return; }
    columns network quantize 'quantized to .pte' 'both at once'
    for folder in $NETWORKS; do
        for float in "$folder"/*.fp32.pt2; do
            base=${float%.fp32.pt2}
            printf '| %s |' "$(basename "$base")"
            cell "$nucleon" quantize "$float" --calibration "$base.calib.npz" -o "$work/quantized.pt2"
            cell "$nucleon" compile "$base.qdq.pt2" -o "$work/network.pte"
            cell "$nucleon" compile "$float" --calibration "$base.calib.npz" -o "$work/network.pte"
            printf '\n'
        done
    done
}

# ---- memory ----

arena() { sed -n 's/^  memory .*arena \([0-9,]*\).*/\1/p' "$work/log" | tr -d , | head -n 1; }

compile_m33() { "$nucleon" compile "$@" --target cortex-m33 --io int8 >"$work/log" 2>&1; }

# What strips cost, of the last compilation.
more_cycles() { sed -n 's/^  strips .* \([0-9.]* %\) more cycles.*/\1/p' "$work/log"; }

# An array file of the bytes in $work/sample, as `nucleon run` takes it: model, type of the elements.
array() {
    sizes=$("$nucleon" inspect "$1" | awk '$1 == "inputs" { input = $2 }
        $1 == input { sub(/^[^[]*\[/, ""); sub(/\].*/, ""); print; exit }')
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': ($sizes), }"
    cat "$work/sample"
}

# budget_row NAME MODEL: the least --memory-budget that is kept, by halving.
budget_row() {
    compile_m33 "$2" -o "$work/plain.pte" || { failed "$1: $(tail -n 1 "$work/log")"; return; }
    plain=$(arena)
    low=0
    high=$plain
    more=
    cp "$work/plain.pte" "$work/least.pte"
    while [ $((high - low)) -gt $((plain / 256 + 16)) ]; do
        middle=$(((low + high) / 2))
        if compile_m33 "$2" --memory-budget "$middle" -o "$work/try.pte"; then
            high=$(arena)
            more=$(more_cycles)
            mv "$work/try.pte" "$work/least.pte"
        else
            low=$middle
        fi
    done
    same=other
    if "$nucleon" run "$work/plain.pte" --input "$work/in" --output "$work/plain.npz" >"$work/log" 2>&1 &&
        "$nucleon" run "$work/least.pte" --input "$work/in" --output "$work/least.npz" >"$work/log" 2>&1 &&
        cmp -s "$work/plain.npz" "$work/least.npz"; then
        same=same
    else
        code=1
    fi
    printf '| %s | %s | %s | %s | %s | %s |\n' "$1" "$plain" "$high" "$(awk "BEGIN { printf \"%.2f\", $high / $plain }")" "${more:--}" "$same"
}

budget() {
    printf '\n### Memory under a budget\n\nArena on the Cortex-M33 with `--io int8`, bytes: plain, and the least that `--memory-budget` reaches.\n'
    columns model plain least ratio 'more cycles' bytes
    for model in "$models"/*.tflite; do
        sample "$model" >"$work/sample"
        read -r type count <"$work/type"
        case $type in float32) type='<f4' ;; *) type='|i1' ;; esac
        array "$model" "$type" >"$work/in.npy"
        rm -f "$work/in"
        ln -s "$work/in.npy" "$work/in"
        budget_row "$(name_of "$model")" "$model"
    done
    [ -n "${NETWORKS:-}" ] || { left_out "networks under a budget: NETWORKS names no folder"; return; }
    for folder in $NETWORKS; do
        for quantized in "$folder"/*.qdq.pt2; do
            base=${quantized%.qdq.pt2}
            rm -f "$work/in"
            ln -s "$base.calib.npz" "$work/in"
            budget_row "$(basename "$base")" "$quantized"
        done
    done
}

for tool in "$nucleon" "$build/bench/bench" "$build/bench/chain" "$build/bench/cost"; do
    [ -x "$tool" ] || { echo "peers.sh: $tool is missing: build first, BUILD names the folder" >&2; exit 2; }
done
if wanted host; then host; fi
if wanted m33; then m33; fi
if wanted int16; then int16; fi
if wanted compile; then compile; fi
if wanted budget; then budget; fi
if [ -n "$write" ]; then
    # The n-th table, or mean, below a heading of the page becomes the n-th one below that heading of the output.
    awk '
        function kind() { return /^\|/ ? "table" : /^Geometric mean/ ? "mean" : "" }
        /^### / { heading = $0; split("", count) }
        { k = kind(); if (k == "" || k != last) if (k != "") count[k]++; last = k }
        NR == FNR { if (k != "") text[heading, k, count[k]] = text[heading, k, count[k]] $0 "\n"; next }
        k != "" && (heading, k, count[k]) in text { printf "%s", text[heading, k, count[k]]; text[heading, k, count[k]] = ""; next }
        { print }' "$output" "$root/bench/README.md" >"$work/page" && cp "$work/page" "$root/bench/README.md"
    [ "$output" != "$work/tables" ] || cat "$output" >&3
fi
exit "$code"

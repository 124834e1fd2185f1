#!/bin/sh
# same_bytes.sh [--every N] [--models DIR]... NUCLEON NUCLEON...: binaries of different compilers, and for different
# hosts, write the same programs, byte for byte: of the models of test/golden without quantization and of float models
# NAME.pt2 or NAME.fp32.pt2 below DIR, beside which NAME.calib.npz lies, each N-th of them; and of the examples, for the
# NPU and for CPUs. The first binary lies in a build folder that has test/golden/golden. Names what differs.
set -u
LC_ALL=C
export LC_ALL
every=1
folders=
while [ $# -ge 2 ]; do
    case $1 in
    --every) every=$2 ;;
    --models) folders="$folders $2" ;;
    *) break ;;
    esac
    shift 2
done
[ $# -ge 2 ] || { echo "usage: same_bytes.sh [--every N] [--models DIR]... NUCLEON NUCLEON..." >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/models" || exit 2
for file in torch litert uint8; do
    "$(dirname "$1")/test/golden/golden" "$root/test/golden/$file.zip" --save "$work/models" --every "$every" >"$work/log" ||
        { cat "$work/log" >&2; exit 2; }
done

# A line for each program to make: its name, the target, the model, more options.
{
    for model in "$work"/models/*; do
        echo "$(basename "$model") imxrt700 $model --no-quantize"
        [ "$model" = "${model%.tflite}" ] || echo "$(basename "$model") cortex-m33 $model --no-quantize"
    done
    # shellcheck disable=SC2086
    [ -z "$folders" ] || find $folders -name '*.pt2' | sort | while read -r model; do
        samples=${model%.pt2}
        samples=${samples%.fp32}.calib.npz
        [ -f "$samples" ] || continue
        case $model in *.qdq.pt2) continue ;; esac
        echo "$(echo "${model%.pt2}" | awk -F / '{ print $(NF - 2) "." $(NF - 1) "." $NF }') $model $samples"
    done | awk -v every="$every" 'NR % every == 1 || every == 1 {
        for (i = split("imxrt700 imxrt700cm cortex-m33", targets, " "); i > 0; i--)
            print $1, targets[i], $2, "--calibration", $3
    }'
    for model in "$root"/examples/*/*.pt2; do
        for samples in "$(dirname "$model")/calibration.npz" "$(dirname "$model")/samples.npz"; do
            [ -f "$samples" ] || continue
            for target in imxrt700 imxrt700cm cortex-m33; do
                echo "$(basename "$model") $target $model --calibration $samples"
            done
        done
    done
} >"$work/programs"

# Makes one: its name and the bytes' sum, or the message with which it is refused.
cat >"$work/make.sh" <<'END'
nucleon=$1 name=$2 target=$3 model=$4 program=$5/$2.$3
shift 5
if message=$("$nucleon" compile "$model" --target "$target" --quiet -o "$program" "$@" 2>&1); then
    echo "$name $target $(sha256sum <"$program")"
else
    echo "$name $target $message" | sed "s|$model|MODEL|g"
fi
rm -f "$program"
END

failures=0
first=
for nucleon; do
    out=$work/out.$failures.$$
    mkdir -p "$out"
    # shellcheck disable=SC2016
    sed "s|^\([^ ]* [^ ]* [^ ]*\)|$nucleon \1 $out|" "$work/programs" |
        xargs -P 2 -L 1 sh "$work/make.sh" | sort >"$work/sums"
    rm -rf "$out"
    [ "$(wc -l <"$work/sums")" -eq "$(wc -l <"$work/programs")" ] || { echo "FAIL $nucleon makes too few programs"; exit 1; }
    if [ -z "$first" ]; then
        first=$nucleon
        mv "$work/sums" "$work/first"
    elif ! diff "$work/first" "$work/sums" >"$work/diff"; then
        failures=$((failures + 1))
        echo "FAIL $nucleon makes $(grep -c '^>' "$work/diff") programs other than $first does, of them"
        sed -n 's/^> \([^ ]* [^ ]*\) .*/    \1/p' "$work/diff" | head -n 20
    fi
done
echo "$(wc -l <"$work/first") programs by $# binaries, $failures of which differ from the first"
[ "$failures" -eq 0 ]

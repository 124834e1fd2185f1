#!/bin/sh
# same_bytes.sh MODEL[=CALIBRATION.npz] ...: whether a Cortex-M55 gives the bytes of a Cortex-M33. Each model is compiled
# for both and runs in QEMU on bytes that differ from sample to sample. Prints the instructions of both, and `same` or
# `other`; exit code 1 where one is other. NUCLEON: the host's nucleon.
[ $# -ge 1 ] || { echo "usage: same_bytes.sh MODEL[=CALIBRATION.npz] ..." >&2; exit 2; }
# shellcheck source=bench/m33/begin.sh
. "$(dirname "$0")/begin.sh"
nucleon=${NUCLEON:-$root/build/release/nucleon}
code=0

# once CPU MODEL CALIBRATION: its output and what it says, in $work.
once() {
    "$nucleon" compile "$2" ${3:+--calibration "$3"} --target "$1" --io int8 -o "$work/$1.pte" --quiet
    image=$(CPU=$1 FIRMWARE_BUILD=$work/$1 NUCLEON=$nucleon sh "$root/tools/firmware.sh" "$work/$1.pte" |
        sed -n 's/^image //p')
    sh "$root/tools/firmware_run.sh" "$image" "$work/samples" "$work/$1.bin" >"$work/$1.txt"
}

printf '%12s %12s  %s\n' cortex-m33 cortex-m55 bytes
for argument in "$@"; do
    model=${argument%%=*}
    calibration=
    case $argument in *=*) calibration=${argument#*=} ;; esac
    "$nucleon" compile "$model" ${calibration:+--calibration "$calibration"} --target cortex-m33 --io int8 \
        -o "$work/sizes.pte" --quiet
    # Three samples of the first input, the same ones each time.
    "$nucleon" inspect "$work/sizes.pte" --json | python3 -c 'import json, math, random, sys
method = json.load(sys.stdin)["methods"][0]
value = method["values"][method["inputs"][0]]
if value["dtype"] not in ("int8", "uint8", "bool"):
    sys.exit("same_bytes.sh: the first input is " + value["dtype"] + ": give a model of bytes")
random.seed(1)
sys.stdout.buffer.write(bytes(random.randrange(256) for _ in range(3 * math.prod(value["sizes"]))))' >"$work/samples"
    for cpu in cortex-m33 cortex-m55; do
        once $cpu "$model" "$calibration"
    done
    same=same
    cmp -s "$work/cortex-m33.bin" "$work/cortex-m55.bin" && [ -s "$work/cortex-m33.bin" ] || same=other code=1
    printf '%12s %12s  %-5s  %s\n' "$(sed -n 's/^execution instructions \([0-9]*\).*/\1/p' "$work/cortex-m33.txt" | head -n 1)" \
        "$(sed -n 's/^execution instructions \([0-9]*\).*/\1/p' "$work/cortex-m55.txt" | head -n 1)" $same "$model"
done
exit $code

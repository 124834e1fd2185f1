#!/bin/sh
# The digits network as firmware: firmware.sh NUCLEON SOURCE_ROOT. QEMU's Cortex-M33 gives the bytes the host gives on
# every test image. 77, "skipped", without the Arm toolchain, QEMU or unzip.
set -u
[ $# -eq 2 ] || { echo "usage: firmware.sh NUCLEON SOURCE_ROOT" >&2; exit 2; }
for tool in arm-none-eabi-gcc qemu-system-arm unzip; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
case $1 in /*) NUCLEON=$1 ;; *) NUCLEON=$PWD/$1 ;; esac
root=$(cd "$2" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2
FIRMWARE_BUILD=$work/build
export NUCLEON FIRMWARE_BUILD

fail() {
    echo "FAIL $*" >&2
    exit 1
}

digits=$root/examples/digits
unzip -q "$digits/test.npz" input.npy || fail "no input"

# check NAME TARGET: host and board on all images.
check() {
    "$NUCLEON" compile "$digits/digits.pt2" --target "$2" --calibration "$digits/calibration.npz" -o "$1.pte" \
        >/dev/null || fail "$2: the program is not compiled"
    sh "$root/tools/firmware.sh" "$1.pte" >built || fail "$2: the image is not built"
    "$NUCLEON" run "$1.pte" --input "$digits/test.npz" -o host.npz || fail "$2: the host does not run the program"
    unzip -q -o host.npz || fail "$2: no arrays"
    tail -c +129 out0.npy >host.bin
    sh "$root/tools/firmware_run.sh" "build/firmware/$1.elf" input.npy board.bin >ran || fail "$2: QEMU: $(cat ran)"
    grep -q '^samples 360$' ran || fail "$2: not all samples ran: $(tail -n 1 ran)"
    grep -q '^execution instructions [1-9]' ran || fail "$2: no instructions are counted"
    sed -n 's/^memory: .* state //p' ran >state
    [ "$(cat state)" -le $(($(grep -c '^operator' ran) * 150)) ] || [ "$2" != cortex-m33 ] ||
        fail "$2: the state of $(grep -c '^operator' ran) operators takes $(cat state) bytes"
    cmp host.bin board.bin || fail "$2: host and board differ"
}

check cpu cortex-m33
check digits imxrt700
sh "$root/tools/flash_by_part.sh" build/firmware/digits.map >parts || fail "no sizes"
runtime=$(awk '$2 == "libnuc_runtime.a" { print $1 }' parts)
[ "$runtime" -gt 0 ] && [ "$runtime" -le 20480 ] || fail "the runtime takes $runtime bytes of flash: $(cat parts)"
echo "the runtime takes $runtime bytes of flash"
if sh "$root/tools/firmware_run.sh" build/firmware/digits.elf missing.npy >ran; then
    fail "a missing input is not an error"
fi
head -c 300 host.bin >part.bin
mv build/firmware/digits.elf "an image, moved.elf"
if sh "$root/tools/firmware_run.sh" "an image, moved.elf" part.bin >ran || ! grep -q "no whole number of samples" ran; then
    fail "an input that ends inside a sample is not an error: $(cat ran)"
fi
exit 0

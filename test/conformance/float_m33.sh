#!/bin/sh
# float_m33.sh NUCLEON CM33_BUILD DIR [NAME ...]: networks that are not quantized, DIR/NAME/NAME.pt2 with samples in
# NAME.test.npz, give on QEMU's Cortex-M33 the bytes that 'nucleon run' gives on the host: both images of the project that
# 'nucleon codegen --project' writes, two samples each. What does not fit into the board or is not compiled is counted,
# with the reason. 0 without the Arm toolchain and QEMU.
set -u
[ $# -ge 3 ] || { echo "usage: float_m33.sh NUCLEON CM33_BUILD DIR [NAME ...]" >&2; exit 2; }
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "no $tool: not run"; exit 0; }
done
case $1 in /*) nucleon=$1 ;; *) nucleon=$PWD/$1 ;; esac
build=$(cd "$2" && pwd) && networks=$(cd "$3" && pwd) || exit 2
shift 3
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2
cmake --install "$build" --prefix "$work/prefix" >log || { cat log; exit 1; }
[ $# -gt 0 ] || set -- $(cd "$networks" && ls)
equal=0 left_out=0 failures=0

skip() {
    echo "left out $*"
    left_out=$((left_out + 1))
}

check() { # NAME
    from=$networks/$1/$1
    /usr/bin/python3 -c 'import sys, numpy as np; np.savez(sys.argv[2], **{k: v[:2] for k, v in np.load(sys.argv[1]).items()})' \
        "$from.test.npz" samples.npz || return 1
    "$nucleon" compile "$from.pt2" --target cortex-m33 --no-quantize -o net.pte --quiet 2>err || { skip "$1: $(tail -n 1 err)"; return 0; }
    rm -rf project
    "$nucleon" codegen net.pte --project project --input samples.npz --quiet 2>err || { skip "$1: $(tail -n 1 err)"; return 0; }
    cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$work/prefix" >log 2>&1 || { tail -n 20 log; return 1; }
    if ! cmake --build project/build >log 2>&1; then
        grep -q "region .* overflowed\|will not fit in region" log || { tail -n 20 log; return 1; }
        skip "$1: does not fit into the board"
        return 0
    fi
    for form in c pte; do
        timeout 300 sh project/run.sh "project/build/net_$form.elf" >ran 2>&1 || { tail -n 3 ran; return 1; }
        echo "equal $1 $form: $(sed -n 's/^instructions of an inference: //p' ran) instructions"
        equal=$((equal + 1))
    done
}

for name; do
    [ -f "$networks/$name/$name.test.npz" ] || continue
    check "$name" || { echo "FAIL $name"; failures=$((failures + 1)); }
done
echo "equal $equal images, left out $left_out networks, failed $failures"
[ $failures -eq 0 ]

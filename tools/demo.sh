#!/bin/sh
# Compiles the digits network three ways and evaluates it on real data: demo.sh BUILD
set -eu

nucleon=$1/nucleon
data=examples/digits
mkdir -p out

show() {
    echo
    echo "== $1"
    "$nucleon" compile "$data/$2.pt2" --calibration "$data/calibration.npz" -o "out/$2.pte"
    "$nucleon" evaluate "out/$2.pte" --dataset "$data/test.npz" --reference "$data/digits.pt2"
}

echo "Handwritten digits: 8 x 8 grey images, a residual network of 13 convolutions, 360 held-out test images."
echo "The reference is the float network; the program runs int8 on the NPU simulator."
show "as exported: with one channel, contiguous and channels-last are the same bytes, so nothing is transposed" digits
show "exported in channels-last memory format" digits_channels_last
show "contiguous input, made channels-last inside the network" digits_same_inputs
echo
echo "The programs are in out/; 'build/release/nucleon inspect out/digits.pte --disassemble' shows one."

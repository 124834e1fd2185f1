#!/bin/sh
# What nucleon does, in one page, with a digits network and real images: demo.sh BUILD
set -eu

nucleon=$(cd "$1" && pwd)/nucleon
samples='--calibration calibration.npz'
mkdir -p out
cp examples/digits/*.pt2 examples/digits/*.npz out
cd out
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[0m') color='--color always'
else
    bold='' plain='' color=''
fi

# show FILTER ARGUMENT...: the command, and of what it prints the lines that the filter, a sed script, keeps.
show() {
    filter=$1
    shift
    echo "\$ nucleon $*" | fold -s -w 76 | sed '$!s/ *$/ \\/; 2,$s/^/    /'
    # shellcheck disable=SC2086
    "$nucleon" "$@" $color >"$log"
    sed -n "$filter" "$log"
}

title() {
    printf '\n%s%s%s\n' "$bold" "$1" "$plain"
}

echo "A residual network of 13 convolutions reads handwritten digits, 8 x 8 pixels."
echo "Its program runs on the bit-exact simulator of the NPU of an i.MX RT700."
title "What keeps a network off the NPU, what that costs, and the fix"
# shellcheck disable=SC2086
show '1p; /^where/,/^$/p; /^about/,/^of these/p' explain digits_unsupported.pt2 $samples
title "The same network without that pooling: where, how long, how much memory"
# shellcheck disable=SC2086
show p compile digits.pt2 $samples -o digits.pte
title "Accuracy on 360 held-out images, against the float network"
show '/^SQNR/p; /accuracy/p; /^agreement/p' evaluate digits.pte --dataset test.npz --reference digits.pt2
title "All about it in one page for a browser: out/digits.html"
# shellcheck disable=SC2086
show p report digits.pt2 $samples --dataset test.npz -o digits.html
printf '\n%s\n' "Next: 'build/release/nucleon help' lists the commands; README.md."

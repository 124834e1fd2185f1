#!/bin/sh
# Dim orders of the digits: dim_order.sh NUCLEON SOURCE_ROOT. Three archives of one model, contiguous, channels-last,
# and contiguous with a change of format inside, in every order --dim-order knows: the same outputs, and no
# transposes, as the images have one channel.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"

# compile ARCHIVE ORDER: to ARCHIVE.ORDER.pte, with what it prints in out and its notes in notes.
compile() {
    "$nucleon" compile "$1.q.pt2" -o "$1.$2.pte" --dim-order "$2" --verbose >out 2>notes || fail "compile $1 $2: $(cat notes)"
    "$nucleon" run "$1.$2.pte" --input "$digits/test.npz" --output "$1.$2.npz" >/dev/null 2>err ||
        fail "run $1 $2: $(cat err)"
    cmp -s "$1.$2.npz" digits.as-is.npz || fail "$1 in order $2 gives other outputs than digits"
}

for archive in digits digits_channels_last digits_same_inputs; do
    "$nucleon" quantize "$digits/$archive.pt2" --calibration "$digits/calibration.npz" -o "$archive.q.pt2" 2>err ||
        fail "quantize $archive: $(cat err)"
    for order in as-is contiguous channels-last auto; do
        compile "$archive" "$order"
        # Images of one channel: their bytes are the same in both orders.
        [ -s notes ] && fail "$archive $order: a note about nothing: $(cat notes)"
        grep -q ' 0 transposes (0 bytes)' out || fail "$archive $order: transposes: $(cat out)"
        [ "$order" != auto ] || [ "$(grep -c '^\*' out)" = 1 ] || fail "$archive: no choice: $(cat out)"
    done
done
"$nucleon" explain digits.q.pt2 --dim-order auto >out 2>err || fail "explain: $(cat err)"
[ "$(grep -c '^\*' out)" = 1 ] || fail "explain says nothing of the choice"
"$nucleon" explain digits.q.pt2 --dim-order sideways >out 2>err
[ $? -eq 2 ] || fail "explain takes any dim order"

[ $failures -eq 0 ] || exit 1
echo "dim orders: all outputs equal"

#!/bin/sh
# fuzz_refused.sh BUILD [TARGET...]: writes test/fuzz/refused/TARGET.txt anew, the inputs that a target refuses and its
# messages, after a change of either. What has changed is to be looked through: an input that is refused for another
# reason than it was made for exercises nothing.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
bits=
grep -q '^NUCLEON_DEVICE_ONLY:[A-Z]*=ON' "$build/CMakeCache.txt" && bits=32
[ $# -gt 0 ] || set -- $(cut -d';' -f1 "$build/test/fuzz/targets.txt")
for target in "$@"; do
    inputs=$(grep "^$target;" "$build/test/fuzz/targets.txt" | cut -d';' -f2- | tr ';' ' ')
    "$build/test/fuzz/replay_$target" --write-refused "test/fuzz/refused/$target$bits.txt" $inputs
done
git --no-pager diff --stat test/fuzz/refused

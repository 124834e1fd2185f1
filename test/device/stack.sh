#!/bin/sh
# stack.sh BUILD STACK_BOUND_SH PAGE: prints the stack that the device libraries below BUILD take; fails on recursion, and
# where PAGE promises less, or a quarter more, than a function takes. 77, "skipped", when there is no such build.
set -u
[ $# -eq 3 ] || { echo "usage: stack.sh BUILD STACK_BOUND_SH PAGE" >&2; exit 2; }
[ -d "$1" ] || { echo "no build in $1"; exit 77; }
printed=$(sh "$2" "$1") || { echo "$printed"; exit 1; }
echo "$printed"
echo "$printed" | while read -r name bytes rest; do
    promised=$(sed -n "s/^| \`$name\`.* | \([0-9,]*\) |\$/\1/p" "$3" | tr -d ,)
    [ -n "$promised" ] || { echo "FAIL $3 has no row of $name"; exit 1; }
    [ "$promised" -ge "$bytes" ] && [ $((promised * 4)) -le $((bytes * 5)) ] ||
        { echo "FAIL $3 says $promised bytes for $name, which takes $bytes $rest"; exit 1; }
done

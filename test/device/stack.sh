#!/bin/sh
# stack.sh BUILD STACK_BOUND_SH: prints the stack that the device libraries below BUILD take, and fails on recursion; 77,
# "skipped", when there is no such build.
set -u
[ -d "$1" ] || { echo "no build in $1"; exit 77; }
exec sh "$2" "$1"

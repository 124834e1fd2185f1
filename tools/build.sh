#!/bin/sh
# Configures and builds a preset: build.sh PRESET [CMAKE OPTION...]. Quiet unless something fails.
set -eu

preset=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$preset" "$@" >"$log" 2>&1 || ! cmake --build "build/$preset" >>"$log" 2>&1; then
    cat "$log" >&2
    echo "build.sh: building preset '$preset' failed; the compiler's words are above" >&2
    exit 1
fi
echo "built preset $preset in build/$preset"

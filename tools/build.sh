#!/bin/sh
# Configures and builds a preset: build.sh PRESET [CMAKE OPTION...]. Quiet unless something fails; a terminal shows how
# far it is.
set -eu

# shellcheck source=tools/progress.sh
. "$(dirname "$0")/progress.sh"
preset=$1
shift
log=$(mktemp)
trap 'rm -f "$log" "$log.code"' EXIT
fail() {
    cat "$log" >&2
    echo "build.sh: building preset '$preset' failed; the compiler's words are above" >&2
    exit 1
}
cmake --preset "$preset" "$@" >"$log" 2>&1 || fail
# ninja's lines begin with "[3/512] ".
{
    code=0
    cmake --build "build/$preset" 2>&1 || code=$?
    echo $code >"$log.code"
} | tee -a "$log" | progress "build $preset" 's|^\[\([0-9]*\)/\([0-9]*\)\] .*|\1 \2|p'
[ "$(cat "$log.code")" -eq 0 ] || fail
echo "built preset $preset in build/$preset"

#!/bin/sh
# generated_c.sh BUILD SOURCE_ROOT COUNT: C made of COUNT damaged programs, which codegen accepts, runs under sanitizers:
# nothing outside of its arrays is touched, whatever the tables of a program say. BUILD is one with sanitizers.
set -u
[ $# -eq 3 ] || { echo "usage: generated_c.sh BUILD SOURCE_ROOT COUNT" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
root=$(cd "$2" && pwd) || exit 2
count=$3
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/kept"
"$build/test/fuzz/replay_codegen" --mutations $((1 + count / 50)) --keep "$work/kept" "$build/test/fuzz/seeds/program" >/dev/null 2>&1
all=$(find "$work/kept" -type f | wc -l)
[ "$all" -ge "$count" ] || { echo "FAIL only $all damaged programs are accepted" >&2; exit 1; }

cd "$work" || exit 2
failed=0
stopped=0
i=0
while [ $i -lt "$count" ]; do
    program=kept/$((1 + i * all / count))
    i=$((i + 1))
    "$build/nucleon" codegen "$program" -o code --name model >/dev/null 2>err ||
        { echo "FAIL $program: codegen refuses what its library takes: $(cat err)" >&2; exit 1; }
    {
        echo '#include <string.h>'
        echo '#include "nucleon/NeutronDriver.h"'
        echo '#include "model.h"'
        echo 'int main(void) { unsigned sum = 0; if (neutronInit() != ENONE || model_load(NULL) != NUC_OK) return 3;'
        echo 'for (int run = 0; run < 2; run++) {'
        sed -n 's/^#define \(MODEL_INPUT\)\([0-9]*\)_BYTES \(.*\)/memset(model_input\2(), 61 + run, \3);/p' code/model.h
        echo 'if (model_run(NULL) != NUC_OK) return 3;'
        sed -n 's/^#define \(MODEL_OUTPUT\)\([0-9]*\)_BYTES \(.*\)/for (unsigned i = 0; i < \3; i++) sum += ((const unsigned char *)model_output\2())[i];/p' code/model.h
        echo '} return sum == 0xFFFFFFFFu; }'
    } >main.c
    "${CC:-cc}" -std=c11 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -Icode -I"$root/include" main.c code/model.c \
        code/model_data.c "$build/src/device/runtime/libnuc_runtime.a" "$build/src/device/signal/libnuc_signal.a" \
        "$build/src/device/kernels/libnuc_kernels.a" "$build/src/device/npusim/libNeutronDriver.a" \
        "$build/src/device/base/libnuc_base.a" -lm -lpthread -o run 2>err ||
        { echo "FAIL $program: the code does not build: $(cat err)" >&2; exit 1; }
    timeout 60 ./run 2>err
    case $? in
    0) ;;
    3) stopped=$((stopped + 1)) ;; # a kernel or the delegate says that it cannot be
    *)
        failed=$((failed + 1))
        echo "FAIL $program" >&2
        head -n 20 err >&2
        [ -z "${KEEP:-}" ] || cp "$program" "$KEEP/"
        ;;
    esac
done
echo "$count programs, $stopped stopped by a status, $failed failed"
[ $failed -eq 0 ]

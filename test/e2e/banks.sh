#!/bin/sh
# banks.sh NUCLEON BUILD SOURCE_ROOT: programs whose memory is split over banks compute what others do, as files and as C;
# what does not fit is refused with a size that does; programs that share one memory do not disturb each other.
set -u
[ $# -eq 3 ] || { echo "usage: banks.sh NUCLEON BUILD SOURCE_ROOT" >&2; exit 2; }
case $1 in /*) nucleon=$1 ;; *) nucleon=$PWD/$1 ;; esac
build=$(cd "$2" && pwd)
root=$(cd "$3" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2

fail() {
    echo "FAIL $*" >&2
    exit 1
}

digits=$root/examples/digits
compile() { # NAME OPTIONS
    name=$1
    shift
    "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" "$@" -o "$name.pte" >said 2>err
}
run() {
    "$nucleon" run "$1.pte" --input "$digits/test.npz" --output "$1.npz" >/dev/null 2>err || fail "$1: does not run: $(cat err)"
}

# ---- the same outputs; nothing is larger than its bank, and one byte less is refused with a size that has room ----

compile npu || fail "npu: $(cat err)"
compile cpu --target cortex-m33 || fail "cpu: $(cat err)"
run npu
run cpu
check() { # NAME LIKE OPTIONS...: banks are the last option
    name=$1
    like=$2
    shift 2
    for last in "$@"; do :; done
    compile "$name" "$@" || fail "$name: $(cat err)"
    run "$name"
    cmp "$name.npz" "$like.npz" || fail "$name: other outputs than $like"
    "$nucleon" inspect "$name.pte" --json >facts || fail "$name: inspect"
    compile "$name" --json "$@" || fail "$name: no JSON"
    # "name size used" of each bank
    awk '/"name":/ { gsub(/[",]/, "", $2); n = $2 }
         /"bytes":/ { b = $2 + 0 } /"planned_bytes":/ { u = $2 + 0 } /"temporary_bytes":/ { u += $2 }
         /"states_bytes":/ { u += $2 } /"weights_bytes":/ { u += $2; print n, b, u }' said | sed '/^[0-9]/d' >uses
    [ "$(wc -l <uses)" -ge 2 ] || fail "$name: the JSON has no banks: $(cat said)"
    while read -r bank size used; do
        [ "$used" -le "$size" ] || fail "$name: $bank holds $used of $size bytes"
    done <uses
    # Each bank as small as it is used still does; then one byte less in one of them after the other.
    tight=$(awk '$3 > 0 { printf "%s%s=%d", n++ ? "," : "", $1, $3 }' uses)
    set -- "$@"
    compile tight $(echo "$*" | sed "s/$last\$/$tight/") || fail "$name: does not fit what it used: $tight: $(cat err)"
    for bank in $(awk '$3 > 0 { print $1 }' uses); do
        short=$(awk -v bank="$bank" '$3 > 0 { printf "%s%s=%d", n++ ? "," : "", $1, $1 == bank ? $3 - 1 : $3 }' uses)
        rm -f short.pte
        compile short $(echo "$*" | sed "s/$last\$/$short/")
        code=$?
        [ $code -eq 0 ] && continue # another distribution has room
        [ $code -eq 3 ] && [ ! -f short.pte ] || fail "$name: $short: exit $code: $(cat err)"
        remedy=$(sed -n 's/.*; --memory \([a-z_0-9]*=[0-9]*\) has room$/\1/p' err)
        [ -n "$remedy" ] || fail "$name: no remedy: $(cat err)"
        better=$(echo "$short" | sed "s/${remedy%%=*}=[0-9]*/$remedy/")
        compile better $(echo "$*" | sed "s/$last\$/$better/") || fail "$name: the remedy $remedy does not help: $(cat err)"
        refused=1
    done
}
refused=
check banks npu --memory m_ncache=12Ki,m_data=1Ki
check scratch npu --plan-delegate-scratch --memory m_ncache=12Ki,m_data=1Ki
check weights npu --weights-memory m_ncache --memory m_ncache=48Ki,m_data=1Ki
check fetch npu --fetch-constants-to-sram --weights-memory flash --memory m_ncache=48Ki,m_data=1Ki
check parts cpu --target cortex-m33 --memory sram=2Ki,data=6Ki
[ -n "$refused" ] || fail "no bank was short"
grep -q '"holds": "planned"' facts || fail "inspect does not say what lies where"

# ---- what cannot be ----

refuse() { # CODE WORDS OPTIONS
    code=$1
    words=$2
    shift 2
    rm -f no.pte
    compile no "$@"
    got=$?
    [ $got -eq "$code" ] && grep -q "$words" err && [ ! -f no.pte ] || fail "$*: exit $got: $(cat err)"
}
refuse 2 "no SRAM named 'm_dta' (did you mean 'm_data'?)" --memory m_dta=1Ki
refuse 2 "no SRAM named 'flash'" --memory flash=1Ki
refuse 2 "takes NAME=SIZE" --memory m_data
refuse 2 "takes NAME=SIZE" --memory 'm data=1Ki'
refuse 2 "takes NAME=SIZE" --memory =1Ki
refuse 2 "from 1 to" --memory m_data=0
refuse 2 "takes a number" --memory m_data=-1
refuse 2 "has 2621440 bytes: give at most" --memory m_data=3Mi
refuse 2 "from 1 to" --target cortex-m33 --memory a=99999999999999999999Gi
refuse 2 "twice" --memory m_data=1Ki,m_data=2Ki
refuse 2 "at most 7" --target cortex-m33 --memory a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1
refuse 2 "no memory named" --memory m_ncache=64Ki --weights-memory nowhere
refuse 2 "does not read flash" --memory m_ncache=64Ki --weights-memory flash
refuse 2 "does not read m_data" --memory m_ncache=64Ki --weights-memory m_data
refuse 2 "give both" --weights-memory m_ncache
refuse 2 "leave one of them out" --memory m_ncache=64Ki --reference-compat
refuse 3 "whatever one of --memory has" --memory m_data=2Mi # not reached by the NPU

# ---- as C: a section for each bank; two programs in one memory ----

unzip -q -o "$digits/test.npz" input.npy || { echo "no unzip"; exit 77; }
tail -c 92160 input.npy >input.bin
link() { # EXECUTABLE FLAGS FILES
    exe=$1
    shift
    cc -std=c11 -O2 -Wall -Wextra -Werror -I"$root/include" "$@" "$build/src/device/runtime/libnuc_runtime.a" \
        "$build/src/device/kernels/libnuc_kernels.a" "$build/src/device/npusim/libNeutronDriver.a" \
        "$build/src/device/base/libnuc_base.a" -lm -lpthread -o "$exe" 2>err || fail "$exe: $(cat err)"
}
"$nucleon" codegen weights.pte -o weights --name model --quiet && "$nucleon" codegen npu.pte -o npu --name model --quiet ||
    fail "no code"
link plain -Inpu "$root/test/e2e/codegen_main.c" npu/model.c npu/model_data.c
link split -Iweights -DNUCLEON_SUSPEND_NPU "$root/test/e2e/codegen_main.c" weights/model.c weights/model_data.c
cc -std=c11 -Iweights -I"$root/include" -c weights/model.c weights/model_data.c || fail "objects"
for section in .bss.m_data .bss.m_ncache; do
    readelf -SW model.o | grep -q "$section .*NOBITS" || fail "no section $section: $(readelf -SW model.o)"
done
readelf -SW model_data.o | grep -q '\.data\.m_ncache' || fail "weights have no section"
./plain <input.bin >want && ./split <input.bin >got && cmp want got || fail "C for banks gives other outputs"

"$nucleon" plan cpu.pte npu.pte -o plan.c >said || fail "no plan"
grep -q "planned 6,144 bytes" said || fail "the plan is not that of the larger program: $(cat said)"
cat >two.c <<'EOF'
#include <stdio.h>
#include <string.h>
#include "cpu.h"
#include "npu.h"
#include "nucleon/runtime.h"
int main(void)
{
    static unsigned char sample[NPU_INPUT0_BYTES];
    if (NUC_NPU_START() != NUC_OK || cpu_load(NULL) != NUC_OK || npu_load(NULL) != NUC_OK || cpu_input0() != npu_input0())
        return 1;
    while (fread(sample, sizeof sample, 1, stdin) == 1) {
        memcpy(cpu_input0(), sample, sizeof sample);
        if (cpu_run(NULL) != NUC_OK || fwrite(cpu_output0(), CPU_OUTPUT0_BYTES, 1, stderr) != 1)
            return 1;
        memcpy(npu_input0(), sample, sizeof sample);
        if (npu_run(NULL) != NUC_OK || fwrite(npu_output0(), NPU_OUTPUT0_BYTES, 1, stdout) != 1)
            return 1;
    }
    return 0;
}
EOF
"$nucleon" codegen cpu.pte -o two --quiet && "$nucleon" codegen npu.pte -o two --quiet || fail "no code of two"
link both -Itwo -I. '-DCPU_PLAN="plan.h"' '-DNPU_PLAN="plan.h"' -DNUCLEON_SUSPEND_NPU two.c two/cpu.c two/cpu_data.c \
    two/npu.c two/npu_data.c plan.c
"$nucleon" codegen cpu.pte -o alone --name model --quiet
link cpu_alone -Ialone "$root/test/e2e/codegen_main.c" alone/model.c alone/model_data.c
./cpu_alone <input.bin >want_cpu && ./both <input.bin >got 2>got_cpu && cmp want got && cmp want_cpu got_cpu ||
    fail "programs in one memory disturb each other"
mkdir other && cp npu.pte other/npu.pte
"$nucleon" plan npu.pte other/npu.pte -o plan.c 2>err && fail "two programs of one name"
grep -q "rename the file" err || fail "the message has no remedy: $(cat err)"
"$nucleon" plan npu.pte -o npu.c 2>/dev/null && fail "a program of the plan's name"
"$nucleon" plan npu.pte -o plan.h 2>/dev/null
[ $? -eq 2 ] || fail "an output that is no source"
head -c 3000 npu.pte >cut.pte
"$nucleon" plan npu.pte cut.pte -o plan.c 2>/dev/null
[ $? -eq 1 ] || fail "a program that is cut off"
# A project has them in both of its images, the rest of the program file's memory in a block.
"$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" --target cortex-m33 --memory sram=4Ki \
    --memory big=8Ki -o split.pte --quiet && "$nucleon" codegen split.pte --project project --quiet || fail "no project"
for bank in sram big; do
    for source in split inference_pte; do
        grep -q "section(\"\.bss\.$bank\")" project/program/$source.c || fail "$source.c: no bank $bank"
    done
done
grep -q 'banks\[\] = {{NULL, arena, sizeof arena}, {"sram", bank1, sizeof bank1}, {"big", bank2, sizeof bank2}};' \
    project/program/inference_pte.c ||
    fail "banks of the program file: $(grep 'banks\[\]' project/program/inference_pte.c)"
echo "ok   banks and plans"

#!/bin/sh
# firmware_project.sh NUCLEON CM33_BUILD SOURCE_ROOT: the projects that 'nucleon codegen --project' writes, outside of the
# checkout, build from installed files alone and give in QEMU what the host gives, with generated C and with the program
# file; the tables of 'nucleon kernels' link what programs call and nothing else. 77, "skipped", without the Arm
# toolchain, QEMU or the build of the device libraries.
# shellcheck source=test/e2e/begin_device.sh
. "$(dirname "$0")/begin_device.sh"

compile() { # NAME MODEL OPTIONS
    name=$1
    model=$2
    shift 2
    "$nucleon" compile "$model" "$@" -o "$name.pte" --quiet 2>err || fail "$name: is not compiled: $(cat err)"
}

# Code, constants and program of an image.
flash() {
    arm-none-eabi-size -A "$1" | awk '$1 ~ /^\.(vectors|text|rodata|ARM\.exidx|data|program|slots)$/ { n += $2 } END { print n }'
}

build_project() { # NAME OPTIONS: writes it, and builds both images
    name=$1
    shift
    "$nucleon" codegen "$name.pte" --project "$name" "$@" --quiet 2>err || fail "$name: no project: $(cat err)"
    cmake -S "$name" -B "$name/build" -DCMAKE_PREFIX_PATH="$work/prefix" >log 2>&1 || fail "$name: $(cat log)"
    cmake --build "$name/build" >log 2>&1 || fail "$name: does not build: $(cat log)"
    ! grep -q "warning: .*\[-W" log || fail "$name: warnings: $(cat log)"
    ! grep -rqF "$root/" "$name" --include=flags.make --include=link.txt || fail "$name: takes files of the sources"
}

run_project() { # FOLDER NAME SAMPLES
    for form in c pte; do
        image=$1/build/$2_$form.elf
        sh "$1/run.sh" "$image" >ran || fail "$1: QEMU: $(cat ran)"
        grep -q "^samples: $3\$" ran || fail "$1: not all samples ran: $(cat ran)"
        grep -q "^instructions of an inference: [1-9]" ran || fail "$1: no instructions are counted"
        bytes=$(flash "$image")
        echo "$2_$form.elf: $bytes bytes of flash, $(head -n 1 ran)"
        shown=$(sed -n "s/^| \`$2_$form.elf\` | \([0-9,]*\) |\$/\1/p" "$root/docs/firmware.md" | tr -d ,)
        [ -n "$shown" ] || fail "docs/firmware.md does not say what $2_$form.elf takes"
        [ $((shown * 10)) -le $((bytes * 11)) ] && [ $((bytes * 10)) -le $((shown * 11)) ] ||
            fail "$2_$form.elf takes $bytes bytes of flash, docs/firmware.md says $shown"
    done
    [ "$(flash "$1/build/$2_c.elf")" -lt "$(flash "$1/build/$2_pte.elf")" ] || fail "$1: C takes more than the program file"
}

# npy SHAPE BYTES FROM: an array of float32, pixels of the digits.
npy() {
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"
    tail -c +"$3" pixels | head -c "$2"
}

compile npu "$digits/digits.pt2" --calibration "$digits/calibration.npz"
"$nucleon" codegen npu.pte --project all --input "$digits/calibration.npz" --quiet || fail "no project"
mv all/samples.bin pixels
npy "24, 1, 8, 8" 6144 1 >npu.npy
build_project npu --input npu.npy
run_project npu npu 24
[ "$(od -An -v -tx1 -w40 npu/expected.bin | sort -u | wc -l)" -gt 10 ] || fail "the expected outputs say little"
# A project that is there keeps what is the user's.
echo "/* mine */" >>npu/main.c
echo "stale" >npu/program/npu.h
"$nucleon" codegen npu.pte --project npu --input npu.npy >said 2>err || fail "no project again"
grep -q "npu: kept as they are: main.c;" err || fail "what is kept is not said: $(cat err)"
grep -q mine npu/main.c && ! grep -q stale npu/program/npu.h || fail "the wrong files are kept"
printf 'x' | dd of=npu/expected.bin bs=1 seek=1000 conv=notrunc 2>/dev/null
! sh npu/run.sh npu/build/npu_c.elf >ran 2>&1 || fail "a wrong output is not noticed"
head -c 300 npu/samples.bin >part.bin
! sh npu/run.sh npu/build/npu_pte.elf part.bin out.bin >ran 2>&1 || fail "a file that ends inside a sample is not an error"

# Two inputs, on the CPU.
mkdir data
npy "3, 1, 8" 96 1 >data/image.npy
npy "3, 1, 8" 96 513 >data/mask.npy
compile two "$root/test/e2e/two_inputs.pt2" --no-quantize
build_project two --name both --input data
run_project two both 3

# A bank of its own in the board's internal SRAM.
compile split "$digits/digits.pt2" --calibration "$digits/calibration.npz" --target cortex-m33 --memory sram=4Ki,data=6Ki
build_project split --input npu.npy
sh split/run.sh split/build/split_c.elf >ran || fail "split: QEMU: $(cat ran)"
arm-none-eabi-nm split/build/split_c.elf | grep -q "^3000.* memory0\$" && arm-none-eabi-nm split/build/split_c.elf | grep -q "^3800.* memory1\$" ||
    fail "a bank is not where the linker script has it: $(arm-none-eabi-nm split/build/split_c.elf | grep memory)"
mv split "a folder, moved"
sh "a folder, moved/run.sh" "a folder, moved/build/split_c.elf" >ran || fail "a folder with spaces: $(cat ran)"

symbols() { arm-none-eabi-nm "$1" | sed -n 's/.* [TtRrDd] \(nuc_op_[a-z0-9_]*\|neutronInit\|nuc_default_kernels\)$/\1/p' | sort | tr '\n' ' '; }
[ "$(symbols two/build/both_pte.elf)" = "nuc_op_sub " ] || fail "the image has other kernels: $(symbols two/build/both_pte.elf)"
"$nucleon" kernels npu.pte two.pte -o tables.c >said || fail "tables of two programs"
"$nucleon" kernels two.pte npu.pte -o again/tables.c 2>/dev/null && fail "a folder that is not there"
for operator in aten::sub.out cortex_m::quantize_per_tensor.out cortex_m::dequantize_per_tensor.out; do
    grep -q "\"$operator\"" tables.c && grep -qF "$operator" said || fail "$operator is not in the tables: $(cat said)"
done
[ "$(grep -c 'nuc_op_' tables.c)" -eq "$(grep -c '::' said)" ] || fail "the tables have other rows: $(cat tables.c)"
grep -q 'NeutronBackend' said || fail "the backend is not named: $(cat said)"
arm-none-eabi-gcc -mcpu=cortex-m33 -std=c11 -Wall -Wextra -Werror -I"$work/prefix/include" -c tables.c || fail "the tables do not compile"
exit 0

#!/bin/sh
# firmware_m55.sh NUCLEON CM55BUILD SOURCE: the project of a program for a Cortex-M55, built from installed libraries,
# computes on QEMU's mps3-an547 what the host computes, and takes kernels with vector instructions. 77, "skipped",
# without QEMU, the compiler or the build.
[ -f "${2:-}/libnucleon-runtime.a" ] || { echo "no build in ${2:-}"; exit 77; }
# shellcheck source=test/e2e/begin_device.sh
. "$(dirname "$0")/begin_device.sh"
"$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" --target cortex-m55 -o digits.pte --quiet ||
    fail "no program"
# The program says what it is for.
"$nucleon" codegen digits.pte --project wrong --target cortex-m33 --quiet 2>err && fail "a project for another CPU"
grep -q 'digits.pte: the program is for a Cortex-M55' err || fail "another CPU: $(cat err)"
"$nucleon" compile "$root/test/e2e/two_inputs.pt2" --no-quantize -o two.pte --quiet || fail "no program"
"$nucleon" codegen two.pte digits.pte --project wrong --quiet 2>err && fail "a project of programs for two CPUs"
grep -q 'digits.pte: is for a Cortex-M55, and the project for a Cortex-M33' err || fail "two CPUs: $(cat err)"
CPU=cortex-m33 NUCLEON=$nucleon sh "$root/tools/firmware.sh" digits.pte 2>err && fail "an image for another CPU"
grep -q 'digits.pte: is for a Cortex-M55: leave CPU=cortex-m33 out' err || fail "another CPU: $(cat err)"
"$nucleon" run digits.pte --input "$digits/calibration.npz" --profile --json >said 2>err || fail "run: $(cat err)"
grep -q '"target": "cortex-m55"' said || fail "a profile for another target"
"$nucleon" codegen digits.pte --project digits --quiet || fail "no project"
[ ! -e digits/cortex-m33.cmake ] || fail "the project has files of another board"
cmake -S digits -B digits/build -DCMAKE_PREFIX_PATH="$work/prefix" >log 2>&1 || fail "$(cat log)"
cmake --build digits/build >log 2>&1 || fail "does not build: $(cat log)"
for form in c pte; do
    sh digits/run.sh digits/build/digits_$form.elf >ran || fail "$form: $(cat ran)"
    grep -q "outputs equal the host's" ran || fail "$form: compares nothing: $(cat ran)"
    arm-none-eabi-nm digits/build/digits_$form.elf | grep -q ' nuc_mve_dot_pairs$' || fail "$form: no vector instructions"
    echo "ok   $form: $(head -n 1 ran)"
done

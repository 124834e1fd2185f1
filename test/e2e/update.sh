#!/bin/sh
# update.sh NUCLEON CM33_BUILD SOURCE_ROOT: five programs take each other's place in one image that runs in QEMU, none of
# which is linked again; what does not suit the firmware is refused with its reason, and a slot whose writing was cut off
# leaves the old program. Signatures are those of openssl and mbedtls, where both are installed. 77, "skipped", without the
# Arm toolchain, QEMU or the build of the device libraries.
# shellcheck source=test/e2e/begin_device.sh
. "$(dirname "$0")/begin_device.sh"

# Five programs: on the NPU, on the CPU, of another model, in float, with states. Each says what it computes.
program() { # NAME VERSION DATA MODEL OPTIONS
    name=$1 version=$2 data=$3
    shift 3
    "$nucleon" compile "$@" -o "$name.pte" --quiet 2>err || fail "$name: is not compiled: $(cat err)"
    "$nucleon" pack "$name.pte" -o "$name.npk" --program-version "$version" --quiet || fail "$name: no package"
    "$nucleon" codegen "$name.pte" --project "of_$name" --input "$data" --quiet || fail "$name: no samples"
}
/usr/bin/python3 - "$digits/calibration.npz" <<'END' || fail "no data"
import sys, numpy as np
(x,) = np.load(sys.argv[1]).values()
np.savez("digits.npz", x=x[:4])
np.savez("two.npz", image=x[:3].reshape(3, -1)[:, :8].reshape(3, 1, 8), mask=x[3:6].reshape(3, -1)[:, 8:16].reshape(3, 1, 8))
np.save("steps.npy", np.random.default_rng(1).normal(size=(6, 1, 8)).astype(np.float32))
END
program npu 1 digits.npz "$digits/digits.pt2" --calibration "$digits/calibration.npz"
program cpu 2 digits.npz "$digits/digits.pt2" --calibration "$digits/calibration.npz" --target cortex-m33
program two 3 two.npz "$root/test/e2e/two_inputs.pt2" --no-quantize
program float 4 digits.npz "$digits/digits.pt2" --no-quantize --target cortex-m33
program states 5 steps.npy "$root/test/e2e/states.pt2" --calibration steps.npy

"$nucleon" codegen npu.pte cpu.pte two.pte float.pte states.pte --project all --name all --input digits.npz --quiet ||
    fail "no project"
cmake -S all -B all/build -DCMAKE_PREFIX_PATH="$work/prefix" >log 2>&1 || fail "$(cat log)"
cmake --build all/build --target all_pte >log 2>&1 || fail "does not build: $(cat log)"
image=all/build/all_pte.elf
before=$(cksum <$image)

# One start of the board: from each to the next.
sh all/run.sh $image of_npu/samples.bin npu.out $(for name in cpu two float states; do
    echo "$name.npk of_$name/samples.bin $name.out"
done) >ran || fail "QEMU: $(cat ran)"
for name in npu cpu two float states; do
    cmp $name.out of_$name/expected.bin || fail "$name: computes something else after an update: $(cat ran)"
done
[ "$(grep -c '^program: version' ran)" -eq 4 ] || fail "not each program was taken: $(cat ran)"
[ "$before" = "$(cksum <$image)" ] || fail "the image was made again"
echo "ok   five programs in one image"

# The same where programs are copied to memory before they run.
cmake -S all -B all/copy -DCMAKE_PREFIX_PATH="$work/prefix" -DCOPY_BYTES=131072 >log 2>&1 &&
    cmake --build all/copy --target all_pte >log 2>&1 || fail "does not build: $(cat log)"
sh all/run.sh all/copy/all_pte.elf of_npu/samples.bin npu.out float.npk of_float/samples.bin float.out >ran || fail "QEMU: $(cat ran)"
cmp npu.out of_npu/expected.bin && cmp float.out of_float/expected.bin || fail "a copied program computes something else"

# ---- what is refused leaves the program that runs ----

refused() { # PACKAGE TEXT: after the update from version 1 to 3
    sh all/run.sh $image of_npu/samples.bin a.out two.npk of_two/samples.bin b.out "$1" of_two/samples.bin c.out >ran ||
        fail "$1: QEMU: $(cat ran)"
    grep -q "^update refused: .*$2" ran || fail "$1: is not refused, or for another reason: $(cat ran)"
    [ "$(grep -c '^program: version 3$' ran)" -eq 2 ] || fail "$1: another program runs: $(cat ran)"
    cmp c.out of_two/expected.bin || fail "$1: the program computes something else"
    echo "ok   refused: $2"
}
refused cpu.npk "not newer than the one in use"
for size in 40 200 1500 20000; do
    head -c $size float.npk >cut.npk
    refused cut.npk "\(cut off\|no package begins here\|checksum does not fit\)"
done
printf x | dd of=float.npk bs=1 seek=3000 conv=notrunc 2>/dev/null
refused float.npk "its checksum does not fit"
"$nucleon" run float.npk --input digits.npz 2>err && fail "a damaged package runs on the host"
grep -q "float.npk: the package is damaged: its checksum does not fit" err || fail "a damaged package: $(cat err)"
"$nucleon" pack float.pte -o float.npk --program-version 4 --quiet

# Many of them, in one start of the board.
"$nucleon" codegen two.pte states.pte --project many --name many --quiet || fail "no project"
cp "$root/test/e2e/update_damage.c" many/main.c
CFLAGS=-DVERIFY=verify cmake -S many -B many/build -DCMAKE_PREFIX_PATH="$work/prefix" >log 2>&1 &&
    cmake --build many/build --target many_pte >log 2>&1 || fail "does not build: $(cat log)"
sh many/run.sh many/build/many_pte.elf states.npk none.out >ran || fail "QEMU: $(cat ran)"
[ "$(cat ran)" = "damaged: 1000, cut off: 50, taken: 0, old program lost: 0
whole: version 5, verified" ] || fail "damaged packages: $(cat ran)"
echo "ok   $(head -n 1 ran)"

# A firmware for two of them: the kernel that another one needs, and the bytes.
"$nucleon" codegen two.pte --project small --name small --input two.npz --quiet || fail "no project"
for form in "" "-DSLOT_BYTES=131072" "-DALL_KERNELS=ON -DARENA_BYTES=4096"; do
    # shellcheck disable=SC2086
    cmake -S small -B small/build -DCMAKE_PREFIX_PATH="$work/prefix" $form >log 2>&1 || fail "$(cat log)"
    cmake --build small/build --target small_pte >log 2>&1 || fail "does not build: $(cat log)"
    sh small/run.sh small/build/small_pte.elf of_two/samples.bin a.out float.npk of_two/samples.bin b.out >ran ||
        fail "QEMU: $(cat ran)"
    cmp b.out of_two/expected.bin || fail "the program computes something else"
    case $form in
    "") grep -q "^update refused: the package is larger than a slot: slot, [0-9]* bytes are missing" ran ||
        fail "a slot is too small: $(cat ran)" ;;
    *SLOT*) grep -q "^update refused: the firmware lacks a kernel, at [a-z_]*::[a-z_.]*$" ran || fail "a kernel is missing: $(cat ran)" ;;
    *) grep -q "^update refused: memory of the firmware is too small for the program: arena, [0-9]* bytes are missing" ran ||
        fail "memory is missing: $(cat ran)" ;;
    esac
    echo "ok   $(grep '^update refused' ran)"
done
# So many bytes more suffice: by the header first, which does not know what the runtime takes, then by the program.
try_arena() { # BYTES
    cmake -S small -B small/build -DARENA_BYTES="$1" >log && cmake --build small/build --target small_pte >log 2>&1 ||
        fail "does not build: $(cat log)"
    sh small/run.sh small/build/small_pte.elf of_two/samples.bin a.out float.npk of_float/samples.bin b.out >ran
    missing=$(sed -n 's/^update refused: .*arena, \([0-9]*\) bytes are missing/\1/p' ran)
}
arena=4096
for step in header program; do
    try_arena $arena
    [ "${missing:-0}" -gt 0 ] || fail "an arena of $arena is not too small by its $step: $(cat ran)"
    arena=$((arena + missing))
done
try_arena $arena
grep -q "^program: version 4" ran && cmp b.out of_float/expected.bin || fail "an arena of $arena does not suffice: $(cat ran)"
try_arena $((arena - 16))
[ "$missing" -eq 16 ] || fail "an arena of $((arena - 16)): $(cat ran)"
echo "ok   an arena of $arena bytes suffices, and none of 16 less"

# ---- the power failed while a slot was written: the board starts with what is there ----

arm-none-eabi-objcopy -O binary --only-section=.slots $image slots.bin || fail "no slots"
half=$(($(wc -c <slots.bin) / 2))
for size in 16 192 4096 $(($(wc -c <float.npk) - 1)); do
    head -c $half slots.bin >cut.bin
    head -c "$size" float.npk >>cut.bin
    tail -c +$((half + size + 1)) slots.bin >>cut.bin
    arm-none-eabi-objcopy --update-section .slots=cut.bin $image cut.elf 2>log || fail "$(cat log)"
    sh all/run.sh cut.elf of_npu/samples.bin a.out >ran || fail "$size bytes: $(cat ran)"
    cmp a.out of_npu/expected.bin || fail "$size bytes: the program computes something else"
    grep -q "^passed over: the package" ran || fail "$size bytes: nothing is said: $(cat ran)"
done
head -c $half slots.bin >cut.bin
cat float.npk >>cut.bin
tail -c +$((half + $(wc -c <float.npk) + 1)) slots.bin >>cut.bin
arm-none-eabi-objcopy --update-section .slots=cut.bin $image cut.elf
sh all/run.sh cut.elf of_float/samples.bin a.out >ran && cmp a.out of_float/expected.bin || fail "the whole package is not taken"
echo "ok   a slot that is written in part"

# ---- a signature: what is signed is the package without it ----

if ! echo '#include <mbedtls/pk.h>' | cc -E - >log 2>&1 || ! command -v openssl >log; then
    echo "left out: signatures, without mbedtls and openssl"
    exit 0
fi
bin=$(dirname "$nucleon")
cc -Wall -Wextra -Werror -I"$root/include" "$root/test/e2e/update_verify.c" -o verify "$bin/libnucleon-runtime.a" \
    "$bin/libnucleon-simulator.a" -lmbedcrypto -lm -lpthread 2>log || fail "an application that verifies: $(cat log)"
openssl ecparam -name prime256v1 -genkey -noout -out private.pem 2>log && openssl ec -in private.pem -pubout -out public.pem 2>log &&
    openssl dgst -sha256 -sign private.pem -out float.sig float.npk || fail "openssl: $(cat log)"
"$nucleon" pack float.pte -o signed.npk --program-version 4 --signature float.sig --quiet || fail "no signed package"
[ "$(./verify public.pem signed.npk)" = "taken: version 4" ] || fail "a signed package is refused"
[ "$(./verify public.pem float.npk)" = "refused: the signature of the package is refused" ] || fail "without a signature"
"$nucleon" pack float.pte -o other.npk --program-version 5 --signature float.sig --quiet || fail "no signed package"
[ "$(./verify public.pem other.npk)" = "refused: the signature of the package is refused" ] || fail "of another version"
"$nucleon" run signed.npk --input digits.npz --output signed.npz --quiet || fail "a signed package does not run on the host"
"$nucleon" codegen signed.npk --project signed --quiet && cmp signed.npk signed/program/signed.npk ||
    fail "a project does not begin with the package that it is given"
"$nucleon" pack float.pte -o none.npk --program-version 4 --signature /dev/null 2>err && fail "an empty signature"
echo "ok   signatures"
exit 0

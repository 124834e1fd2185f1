#!/bin/sh
# int16.sh CMSIS-NN: instructions of layers of int16 under QEMU, by our kernels and by those of CMSIS-NN whose sources
# lie in that folder, and the geometric mean of the ratios. The kernels have the options of the firmware's build.
[ $# -eq 1 ] && [ -d "$1/Include" ] || { echo "usage: int16.sh CMSIS-NN" >&2; exit 2; }
# shellcheck source=bench/m33/begin.sh
. "$(dirname "$0")/begin.sh"
cmsis=$(cd "$1" && pwd)
options="-std=c11 $board $sections -isystem $cmsis/Include"
# shellcheck disable=SC2046
build theirs "-O3 -w" $(find "$cmsis/Source" -name "*_s16*.c" -o -path "*/NNSupportFunctions/*.c" ! -name "*_f16.c" ! -name "*_f32.c")
build kernels "-O2 -ffreestanding -fno-math-errno -ffp-contract=off" "$root"/src/device/kernels/ref_s16/*.c \
    "$root/src/device/kernels/dsp/dsp_conv_s16.c"
build own "-Os" "$root/bench/m33/int16.c" "$port/print.c" "$port/startup.c" "$port/semihosting.c" "$port/mps2_an505/counter.c" \
    "$root"/src/device/base/fixed_point.c "$root"/src/device/base/logistic.c "$root"/src/device/kernels/ref/walk.c
# shellcheck disable=SC2086
arm-none-eabi-gcc $options -nostartfiles -T "$port/mps2_an505/mps2_an505.ld" -Wl,--gc-sections -o "$work/int16.elf" \
    "$work"/own/*.o "$work"/kernels/*.o "$work"/theirs/*.o -lm
sh "$root/tools/firmware_run.sh" "$work/int16.elf" | awk -F '\t' '
    { printf "%-28s %10d %10d %6.3f  %s\n", $1, $2, $3, $2 / $3, $4; sum += log($2 / $3) }
    END { printf "geometric mean of %d ratios: %.3f\n", NR, exp(sum / NR) }'

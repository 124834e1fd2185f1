#!/bin/sh
# features.sh CMSIS-DSP CMSIS: instructions of the MFCC of a frame under QEMU, by our operator and by CMSIS-DSP's of 16
# bits, whose sources lie in the first folder and the headers of the core in the second. Ours has the options of the
# firmware's build.
[ $# -eq 2 ] && [ -d "$1/Include" ] && [ -d "$2/CMSIS/Core/Include" ] ||
    { echo "usage: features.sh CMSIS-DSP CMSIS" >&2; exit 2; }
# shellcheck source=bench/m33/begin.sh
. "$(dirname "$0")/begin.sh"
dsp=$(cd "$1" && pwd)
core=$(cd "$2" && pwd)
options="-std=gnu11 $board $sections -isystem $dsp/Include -isystem $dsp/PrivateInclude -isystem $core/CMSIS/Core/Include"
# shellcheck disable=SC2046
build theirs "-O3 -w" $(find "$dsp/Source" \( -name "*_q15.c" -o -name "*_sqrt_q31.c" -o -name "*_vlog_q31.c" -o \
    -name "*_offset_q31.c" -o -name "*_shift_q31.c" -o -name "*_scale_q31.c" -o -name "arm_common_tables.c" \
    -o -name "arm_const_structs.c" -o -name "arm_bitreversal2.c" \) ! -name "*f16*")
build signal "-O2 -ffreestanding -fno-math-errno -ffp-contract=off" "$root"/src/device/signal/*.c
build own "-Os" "$root/bench/m33/features.c" "$port/print.c" "$port/startup.c" "$port/semihosting.c" \
    "$port/mps2_an505/counter.c"
# shellcheck disable=SC2086
arm-none-eabi-gcc $options -nostartfiles -T "$port/mps2_an505/mps2_an505.ld" -Wl,--gc-sections -o "$work/features.elf" \
    "$work"/own/*.o "$work"/signal/*.o "$work"/theirs/*.o -lm
sh "$root/tools/firmware_run.sh" "$work/features.elf" | awk -F '\t' '
    NR == 1 { printf "%s: %d instructions, CMSIS-DSP %d, ratio %.2f\n", $1, $2, $3, $2 / $3; next }
    { print "  " $2 / 128 "  " $3 / 128 }'

#!/bin/sh
# run.sh [--out DIR]: digits and listen in one firmware: compiled, planned, linked, and run in turns in QEMU, where the
# outputs of each have to be those of the host. Prints memory and flash of each alone and of both.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/out/two_programs
if [ $# -eq 2 ] && [ "$1" = --out ]; then out=$2; elif [ $# -gt 0 ]; then
    echo "usage: run.sh [--out DIR]" >&2
    exit 2
fi
nucleon=${NUCLEON:-$root/build/release/nucleon}
case $nucleon in /*) ;; *) nucleon=$PWD/$nucleon ;; esac
for tool in "$nucleon" arm-none-eabi-gcc qemu-system-arm cmake ninja; do
    command -v "$tool" >/dev/null || { echo "run.sh: $tool is missing" >&2; exit 1; }
done
mkdir -p "$out"
cd "$out"

# Programs, samples, and what the host computes of them: a project of each has these.
"$nucleon" compile "$root/examples/digits/digits.pt2" --calibration "$root/examples/digits/calibration.npz" \
    -o digits.pte --quiet
"$nucleon" compile "$root/examples/listen/listen.pt2" --calibration "$root/examples/listen/calibration" \
    --front-end "$root/examples/listen/front_end.json" --stream 1:320 -o listen.pte --quiet
"$nucleon" codegen digits.pte --project digits_project --input "$root/examples/digits/calibration.npz" --quiet
"$nucleon" codegen listen.pte --project listen_project --input "$root/examples/listen/test.wav" --quiet

# What an image is made of: the plan of its programs, and their files.
prepare() { # IMAGE PROGRAM...
    mkdir -p "$1"
    image=$1
    shift
    files=
    {
        echo '    .section .program, "a", %progbits'
        table='    .balign 4\n    .global programs\nprograms:\n'
        for name in "$@"; do
            files="$files $name.pte"
            printf '    .balign 16\n%s:\n    .incbin "%s"\n%s_end:\n' "$name" "$PWD/$name.pte" "$name"
            table="$table    .word $name, ${name}_end\n"
        done
        printf "$table"
    } >"$image/programs.S"
    # shellcheck disable=SC2086 # a word each
    "$nucleon" plan $files -o "$image/plan.c" --json >"$image/plan.json"
}
prepare digits digits
prepare listen listen
prepare both digits listen

if ! cmake -G Ninja -S "$here" -B build -DCMAKE_TOOLCHAIN_FILE="$root/cmake/cm33.cmake" -DCMAKE_BUILD_TYPE=MinSizeRel \
    -DWORK="$PWD" "-DIMAGES=digits;listen;both" >log 2>&1 || ! cmake --build build >>log 2>&1; then
    cat log >&2
    exit 1
fi

# Outputs in turns are those of each program alone.
qemu-system-arm -M mps2-an505 -display none -monitor none -serial none -icount shift=6 -chardev stdio,id=text \
    -kernel build/both.elf -semihosting-config "enable=on,target=native,chardev=text,arg=main,arg=digits_project/samples.bin,\
arg=digits.bin,arg=listen_project/samples.bin,arg=listen.bin"
for name in digits listen; do
    bytes=$(wc -c <$name.bin)
    [ "$bytes" -gt 0 ] && cmp -n "$bytes" $name.bin ${name}_project/expected.bin ||
        { echo "run.sh: outputs of $name are not what the host computes" >&2; exit 1; }
done
echo "outputs equal the host's"

field() { sed -n "s/^ *\"$2\": \([0-9]*\),*\$/\1/p" "$1/plan.json" | tail -n 1; }
echo "                     digits    listen      both"
row() { printf '%-19s %7s %9s %9s\n' "$@"; }
row "planned memory" "$(field digits shared_bytes)" "$(field listen shared_bytes)" "$(field both shared_bytes)"
row "NPU scratch, calls" "$(field digits temporary_bytes)" "$(field listen temporary_bytes)" "$(field both temporary_bytes)"
row "of each program" "$(field digits own_bytes)" "$(field listen own_bytes)" "$(field both own_bytes)"
flash() {
    arm-none-eabi-size -A "build/$1.elf" | awk '$1 ~ /^\.(vectors|text|rodata|ARM\.exidx|data|program)$/ { n += $2 } END { print n }'
}
row "flash" "$(flash digits)" "$(flash listen)" "$(flash both)"

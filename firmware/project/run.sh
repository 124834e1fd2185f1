#!/bin/sh
# run.sh IMAGE.elf [SAMPLES.bin [OUTPUT.bin [PACKAGE.npk SAMPLES.bin OUTPUT.bin]...]]: runs an image in QEMU's @MACHINE@,
# files by semihosting. Without SAMPLES those of the project, whose outputs are compared with the host's. Each PACKAGE
# then takes the place of the program.
set -eu
[ $# -ge 1 ] || { echo "usage: run.sh IMAGE.elf [SAMPLES.bin [OUTPUT.bin [PACKAGE.npk SAMPLES.bin OUTPUT.bin]...]]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
command -v qemu-system-arm >/dev/null || { echo "run.sh: qemu-system-arm is missing" >&2; exit 1; }
samples=${2:-$here/samples.bin}
output=${3:-${1%.elf}.bin}
given=$#
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac; }
ln -s "$(absolute "$1")" "$work/image"
# The image takes its arguments apart at spaces, and QEMU at commas: files go by names without either.
count=0 arguments=
shift $((given < 3 ? given : 3))
for file in "$samples" "$output" "$@"; do
    count=$((count + 1))
    ln -s "$(absolute "$file")" "$work/$count"
    arguments=$arguments,arg=$count
done
# Every instruction takes 64 ns, which the image measures with a timer of the board.
(cd "$work" && qemu-system-arm -M @MACHINE@ -display none -monitor none -serial none -icount shift=6 \
    -chardev stdio,id=text -kernel image \
    -semihosting-config "enable=on,target=native,chardev=text,arg=main$arguments")
[ "$given" -eq 1 ] || exit 0
cmp "$output" "$here/expected.bin" || { echo "run.sh: $output is not what the host computes" >&2; exit 1; }
echo "outputs equal the host's"

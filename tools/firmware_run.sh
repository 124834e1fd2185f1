#!/bin/sh
# firmware_run.sh IMAGE.elf [INPUT [OUTPUT]]: runs an image under QEMU, counting instructions; see firmware/runner.
# SERIAL=pty: with a serial line, by QEMU's words.
set -eu
usage="usage: firmware_run.sh IMAGE.elf [INPUT [OUTPUT]]"
[ $# -ge 1 ] && [ $# -le 3 ] && [ -n "$1" ] || { echo "$usage" >&2; exit 2; }
bad() { printf 'firmware_run.sh: %s\n' "$*" >&2; exit 1; }
# bytes FILE FROM COUNT: in hexadecimal.
bytes() { dd if="$1" bs=1 skip="$2" count="$3" 2>/dev/null | od -An -v -tx1 | tr -d ' \n'; }
readable() { [ -f "$1" ] && [ -r "$1" ] || bad "$1: cannot be read: is it the right path of $2?"; }

readable "$1" "the image"
case $(bytes "$1" 0 4)$(bytes "$1" 18 2) in
7f454c462800) ;;
7f454c46*) bad "$1: is an ELF file for another machine than Arm: 'make firmware PROGRAM=FILE.pte' makes images" ;;
*) bad "$1: is not an image (.elf): 'make firmware PROGRAM=FILE.pte' makes one of a program" ;;
esac
if [ $# -ge 2 ] && [ -n "$2" ]; then
    readable "$2" "the input"
    [ -s "$2" ] || bad "$2: is empty: it holds the samples of input 0"
    case $(bytes "$2" 0 8) in
    504b0304* | 504b0506*) bad "$2: is an archive of arrays (.npz): save the array of input 0 as .npy, with numpy.save, or unzip it" ;;
    89504e47* | ffd8ff*) bad "$2: is an image: save it as .npy, as float32 in the shape and range of input 0" ;;
    *45543132) bad "$2: is a program (.pte): the image holds it already, here go samples" ;;
    esac
fi
if [ $# -eq 3 ]; then
    [ ! -d "$3" ] || bad "$3: is a folder: give the name of a file in it"
    [ -d "$(dirname "$3")" ] || bad "$3: cannot be written: the folder '$(dirname "$3")' does not exist"
    [ "$2" != "$3" ] && [ "$1" != "$3" ] || bad "$3: is read, too: give the output another name"
fi
# What QEMU's option and the image would take apart.
for path in "${2:-}" "${3:-}"; do
    case $path in *,* | *' '*) bad "$path: the board takes no paths with commas or spaces: rename it" ;; esac
done
command -v qemu-system-arm >/dev/null || bad "qemu-system-arm is missing: apt-get install qemu-system-arm"
# The boards' code lies at different addresses.
case $(bytes "$1" 27 1) in 01) board=mps3-an547 ;; *) board=mps2-an505 ;; esac
exec qemu-system-arm -M $board -display none -monitor none -serial "${SERIAL:-none}" -icount shift=6 -chardev stdio,id=text \
    -kernel "$1" -semihosting-config "enable=on,target=native,chardev=text,arg=runner${2:+,arg=$2}${3:+,arg=$3}"

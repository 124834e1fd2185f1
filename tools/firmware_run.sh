#!/bin/sh
# firmware_run.sh IMAGE.elf [INPUT [OUTPUT]]: runs an image under QEMU, counting instructions; see firmware/runner.
set -eu
[ $# -ge 1 ] && [ $# -le 3 ] || { echo "usage: firmware_run.sh IMAGE.elf [INPUT [OUTPUT]]" >&2; exit 2; }
exec qemu-system-arm -M mps2-an505 -display none -monitor none -serial none -icount shift=6 -chardev stdio,id=text \
    -kernel "$1" -semihosting-config "enable=on,target=native,chardev=text,arg=runner${2:+,arg=$2}${3:+,arg=$3}"

#!/bin/sh
# qemu.sh IMAGE.elf FIRMWARE_RUN_SH: the kernels of a board's CPU against the reference kernels in QEMU; 77, "skipped", without
# QEMU or the image.
set -u
command -v qemu-system-arm >/dev/null || { echo "no qemu-system-arm"; exit 77; }
[ -f "$1" ] || { echo "no $1"; exit 77; }
printed=$(sh "$2" "$1") || { echo "$printed"; exit 1; }
echo "$printed"
[ "$printed" = equal ]

#!/bin/sh
# board.sh BUILD SYMBOLS_SH: checks the device libraries below BUILD; 77, "skipped", when there is no such build.
set -u
build=$1
[ -d "$build" ] || { echo "no build in $build"; exit 77; }
command -v arm-none-eabi-nm >/dev/null || { echo "no arm-none-eabi-nm"; exit 77; }
exec sh "$2" arm-none-eabi-nm "$build/src/device/base/libnuc_base.a" "$build/src/device/kernels/libnuc_kernels.a" \
    "$build/src/device/runtime/libnuc_runtime.a" "$build/src/device/npusim/libNeutronDriver.a"

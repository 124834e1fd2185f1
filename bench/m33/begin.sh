# What the scripts of this folder begin with; they read it with '.'. `work` is a folder that goes when they end.
# shellcheck shell=sh disable=SC2034,SC2154
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
port=$root/port
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
board="-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16"
sections="-ffunction-sections -fdata-sections"

# build NAME OPTIONS FILE ...: objects into $work/NAME, with the `options` of all of them, too.
build() {
    mkdir "$work/$1"
    # shellcheck disable=SC2086
    (cd "$work/$1" && own=$2 && shift 2 &&
        arm-none-eabi-gcc $options $own -I "$root" -I "$root/include" -I "$root/src" -c "$@")
}

#!/bin/sh
# install.sh BUILD SOURCE: installs into a folder of its own and builds the examples against what is there, through
# pkg-config and as a CMake package; both must do the job of the command.
set -u
build=$1
source=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
step()
{
    name=$1
    shift
    if ! "$@" >"$dir/log" 2>&1; then
        cat "$dir/log"
        echo "FAIL $name"
        exit 1
    fi
    echo "ok   $name"
}
digits=$source/examples/digits
step "install" cmake --install "$build" --prefix "$dir/prefix"
nucleon=$dir/prefix/bin/nucleon
lib=$(dirname "$(find "$dir/prefix" -name 'libnuc_runtime.a')")
PKG_CONFIG_PATH=$lib/pkgconfig
LD_LIBRARY_PATH=$lib
export PKG_CONFIG_PATH LD_LIBRARY_PATH

step "the installed command compiles" "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" \
    -o "$dir/digits.pte"
step "the schema of its --json is there" cmp "$dir/prefix/share/nucleon/nucleon.schema.json" \
    "$source/docs/schema/nucleon.schema.json"

# pkg-config: the firmware example on the host.
# shellcheck disable=SC2046
step "build with pkg-config nucleon-runtime" cc -std=c11 "-DMODEL=\"$dir/digits.pte\"" \
    "$source/examples/embed/embed.c" "$source/examples/embed/main.c" "$source/examples/embed/model.S" \
    $(pkg-config --cflags --libs nucleon-runtime) -o "$dir/embed"
# A sample, another one, and the first again: the program is loaded once.
head -c 256 /dev/zero >"$dir/input"
head -c 512 /dev/zero | tr '\000' '\077' | head -c 256 >>"$dir/input"
head -c 256 /dev/zero >>"$dir/input"
"$dir/embed" <"$dir/input" >"$dir/output" || { echo "FAIL the embedded program runs"; exit 1; }
[ "$(wc -c <"$dir/output")" -eq 120 ] || { echo "FAIL the embedded program gives ten float32 values a sample"; exit 1; }
cmp -n 40 "$dir/output" "$dir/output" 0 80 || { echo "FAIL the same sample gives the same output"; exit 1; }
if cmp -s -n 40 "$dir/output" "$dir/output" 0 40; then
    echo "FAIL another sample gives another output"
    exit 1
fi
echo "ok   the embedded program runs"

# shellcheck disable=SC2046
step "build with pkg-config nucleon" cc -std=c11 "$source/examples/compile/main.c" \
    $(pkg-config --cflags --libs nucleon) -o "$dir/compile"
step "the library compiles" "$dir/compile" "$digits/digits.pt2" "$digits/calibration.npz" "$dir/library.pte"
step "library and command write the same program" cmp "$dir/library.pte" "$dir/digits.pte"

step "configure as a CMake package" cmake -G Ninja "-DCMAKE_PREFIX_PATH=$dir/prefix" -S "$source/examples/compile" \
    -B "$dir/package"
step "build as a CMake package" cmake --build "$dir/package"
step "the package's library compiles" "$dir/package/compile_example" "$digits/digits.pt2" "$digits/calibration.npz" \
    "$dir/package.pte"
step "package and command write the same program" cmp "$dir/package.pte" "$dir/digits.pte"
echo "passed"

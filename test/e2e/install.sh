#!/bin/sh
# install.sh BUILD SOURCE: installs into a folder, moves it, and builds users' programs against what is there: with
# pkg-config and as a CMake package, against the shared library and the static ones. They must do what the command does.
# SOURCE/build/cm33, where it is built, is installed, too.
set -u
build=$(cd "$1" && pwd) || exit 1
source=$(cd "$2" && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail()
{
    [ -f "$dir/log" ] && cat "$dir/log"
    echo "FAIL $*"
    exit 1
}
step()
{
    name=$1
    shift
    "$@" >"$dir/log" 2>&1 || fail "$name"
    echo "ok   $name"
}
digits=$source/examples/digits
step "install" cmake --install "$build" --prefix "$dir/first"
mv "$dir/first" "$dir/prefix"
nucleon=$dir/prefix/bin/nucleon
lib=$(dirname "$(find "$dir/prefix" -name libnucleon.so)")
include=$dir/prefix/include
export PKG_CONFIG_PATH="$lib/pkgconfig"

step "the installed command compiles" "$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" \
    -o "$dir/digits.pte"
step "the schema of its --json is there" cmp "$dir/prefix/share/nucleon/nucleon.schema.json" \
    "$source/docs/schema/nucleon.schema.json"
step "the licence is there" cmp "$dir/prefix/share/doc/nucleon/LICENSE" "$source/LICENSE"
[ -z "$(find "$dir/prefix" -name '*NeutronDriver.[as]*')" ] || fail "nothing has the vendor's name"

# ---- headers and symbols ----

for header in "$include"/nucleon/*.h; do
    echo "#include <nucleon/$(basename "$header")>"
done >"$dir/all.h"
while read -r line; do
    printf "%s\ntypedef int not_empty;\n" "$line" >"$dir/one.c"
    cc -std=c11 -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only "$dir/one.c" 2>"$dir/log" ||
        fail "C: $line"
done <"$dir/all.h"
echo "ok   each header stands alone in C"
if command -v c++ >/dev/null; then
    cp "$dir/all.h" "$dir/all.cc"
    step "the headers are C++, too" c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only "$dir/all.cc"
else
    echo "skip the headers are C++, too: there is no c++"
fi
# What is exported is declared: it can be named. What is declared is exported: whatever is called in the headers,
# functions that they define themselves left out, and names without a prefix (matmul), which belong to another NPU.
nm -D --defined-only "$lib/libnucleon.so" | awk '{ print $3 }' | sort >"$dir/exported"
{
    cat "$dir/all.h"
    echo 'void *const exported[] = {'
    sed 's/.*/    (void *)&,/' "$dir/exported"
    echo '};'
} >"$dir/named.c"
step "every symbol of libnucleon.so is declared" cc -std=c11 -I"$include" -fsyntax-only "$dir/named.c"
cc -E -P -I"$include" -x c "$dir/all.h" >"$dir/text"
grep -oE 'static inline [^(]*\(' "$dir/text" | sed 's/ *($//; s/.*[ *]//' | sort -u >"$dir/inline"
grep -oE '\b(nuc_|neutron|getNeutron)[A-Za-z0-9_]* *\([^*]' "$dir/text" | sed 's/ *(.$//' | sort -u | comm -23 - "$dir/inline" \
    >"$dir/declared"
step "every declared function is a symbol of libnucleon.so" diff "$dir/declared" "$dir/exported"
[ "$(wc -l <"$dir/exported")" -gt 300 ] || fail "there are functions"

# ---- the compiler ----

same_program()
{
    LD_LIBRARY_PATH=$2 "$1" "$digits/digits.pt2" "$digits/calibration.npz" "$dir/library.pte" >"$dir/log" 2>&1 ||
        fail "$1 compiles"
    cmp "$dir/library.pte" "$dir/digits.pte" || fail "$1 writes the program of the command"
    rm "$dir/library.pte"
}
# shellcheck disable=SC2046
step "build with pkg-config nucleon" cc -std=c11 "$source/examples/compile/main.c" \
    $(pkg-config --cflags --libs nucleon) -o "$dir/shared"
same_program "$dir/shared" "$lib"
echo "ok   it compiles as the command does"
# shellcheck disable=SC2046
step "build with pkg-config --static nucleon" cc -std=c11 "$source/examples/compile/main.c" \
    $(pkg-config --cflags nucleon) $(pkg-config --static --libs nucleon | sed 's/-lnucleon/-l:libnucleon.a/') \
    -o "$dir/static"
same_program "$dir/static" ""
echo "ok   it compiles without libnucleon.so"
LD_LIBRARY_PATH=$lib "$dir/shared" "$digits/digits.pt2" "$digits/calibration.npz" "$dir/x.pte" target=imxrt70 \
    >"$dir/log" 2>&1 && fail "a wrong option is refused"
grep -q "did you mean 'imxrt700'" "$dir/log" || fail "the message says what was meant"
echo "ok   options are set by name"

# ---- programs: runtime, and the simulator where there is an NPU ----

# shellcheck disable=SC2046
step "build with pkg-config nucleon-runtime nucleon-simulator" cc -std=c11 "-DMODEL=\"$dir/digits.pte\"" \
    "$source/examples/embed/embed.c" "$source/examples/embed/main.c" "$source/examples/embed/model.S" \
    $(pkg-config --cflags --libs nucleon-runtime nucleon-simulator) -o "$dir/embed"
# A sample, another one, and the first again: the program is loaded once.
head -c 256 /dev/zero >"$dir/input"
head -c 256 /dev/zero | tr '\000' '\077' >>"$dir/input"
head -c 256 /dev/zero >>"$dir/input"
"$dir/embed" <"$dir/input" >"$dir/output" || fail "the embedded program runs"
[ "$(wc -c <"$dir/output")" -eq 120 ] || fail "the embedded program gives ten float32 values a sample"
cmp -n 40 "$dir/output" "$dir/output" 0 80 || fail "the same sample gives the same output"
! cmp -s -n 40 "$dir/output" "$dir/output" 0 40 || fail "another sample gives another output"
echo "ok   the embedded program runs"
cat >"$dir/cpu.c" <<'END'
#include <nucleon/kernels.h>
#include <nucleon/runtime.h>
#include <nucleon/version.h>

int main(void)
{
    static const struct nuc_kernel_entry entry = {"aten::add.out", nuc_accepts_add, nuc_arguments_add, nuc_op_add};

    return entry.run == nuc_op_add && nuc_dtype_size(NUC_F32) == 4 && sizeof NUCLEON_VERSION > 5 ? 0 : 1;
}
END
# shellcheck disable=SC2046
step "build with pkg-config nucleon-runtime alone" cc -std=c11 "$dir/cpu.c" \
    $(pkg-config --cflags --libs nucleon-runtime) -o "$dir/cpu"
step "it runs" "$dir/cpu"
if nm "$dir/cpu" "$lib/libnucleon-runtime.a" 2>/dev/null | grep -qE ' [TtDdBbRr] (npu_|neutron)'; then
    fail "the runtime holds no simulator"
fi
echo "ok   the runtime holds no simulator"

# ---- the same as a CMake package ----

mkdir "$dir/user"
cat >"$dir/user/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C ASM)
find_package(nucleon 0.1 REQUIRED)
if(NOT TARGET nucleon::compiler OR TARGET nucleon::compiler_static)
    message(FATAL_ERROR "without components there is the shared compiler")
endif()
find_package(nucleon REQUIRED COMPONENTS compiler_static)
find_package(nucleon QUIET COMPONENTS nonsense)
if(nucleon_FOUND)
    message(FATAL_ERROR "a component that there is not is found")
endif()
add_executable(shared $source/examples/compile/main.c)
target_link_libraries(shared PRIVATE nucleon::compiler)
add_executable(static $source/examples/compile/main.c)
target_link_libraries(static PRIVATE nucleon::compiler_static)
add_executable(embed $source/examples/embed/embed.c $source/examples/embed/main.c $source/examples/embed/model.S)
target_compile_definitions(embed PRIVATE MODEL="$dir/digits.pte")
target_link_libraries(embed PRIVATE nucleon::runtime nucleon::simulator)
add_executable(cpu $dir/cpu.c)
target_link_libraries(cpu PRIVATE nucleon::runtime)
END
step "configure as a CMake package" cmake -G Ninja "-DCMAKE_PREFIX_PATH=$dir/prefix" -S "$dir/user" -B "$dir/package"
step "build as a CMake package" cmake --build "$dir/package"
same_program "$dir/package/shared" ""
same_program "$dir/package/static" ""
"$dir/package/embed" <"$dir/input" | cmp - "$dir/output" || fail "the package's embedded program computes the same"
step "the package's runtime stands alone" "$dir/package/cpu"
echo "ok   the package's programs do the same"

# ---- for the microcontroller ----

cm33=$source/build/cm33
if command -v arm-none-eabi-gcc >/dev/null && [ -f "$cm33/libnucleon-runtime.a" ]; then
    step "install the device's libraries" cmake --install "$cm33" --prefix "$dir/device"
    [ ! -e "$dir/device/include/nucleon/compile.h" ] || fail "the device has its own headers alone"
    cat >"$dir/user/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(nucleon REQUIRED COMPONENTS runtime simulator)
add_executable(cpu $dir/cpu.c)
target_link_options(cpu PRIVATE --specs=nosys.specs)
target_link_libraries(cpu PRIVATE nucleon::runtime nucleon::simulator)
END
    step "configure for the device" cmake -G Ninja "-DCMAKE_TOOLCHAIN_FILE=$source/cmake/cm33.cmake" \
        "-DCMAKE_PREFIX_PATH=$dir/device" -S "$dir/user" -B "$dir/device_build"
    step "build for the device" cmake --build "$dir/device_build"
else
    echo "skip the device's libraries: build/cm33 is not built"
fi
echo "passed"

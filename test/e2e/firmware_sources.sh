#!/bin/sh
# firmware_sources.sh NUCLEON SOURCE_ROOT: the sources and include folders that docs/firmware.md names for an own project
# (an IDE's, say) are all that it takes: exactly these are compiled, without any definition, linked with both forms of a
# program, and give in QEMU what the host gives; the component for the MCUXpresso SDK has the same lists. 77, "skipped", without the Arm toolchain or QEMU.
set -u
[ $# -eq 2 ] || { echo "usage: firmware_sources.sh NUCLEON SOURCE_ROOT" >&2; exit 2; }
case $1 in /*) nucleon=$1 ;; *) nucleon=$PWD/$1 ;; esac
root=$(cd "$2" && pwd)
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2

fail() {
    echo "FAIL $*" >&2
    exit 1
}

# listed WHAT: the lines of the block after the comment "<!-- list: WHAT -->" in docs/firmware.md.
listed() {
    awk -v mark="<!-- list: $1 -->" '$0 == mark { on = 1; next } on && /^```/ { if (inside) exit; inside = 1; next } inside' \
        "$root/docs/firmware.md"
}

listed sources >sources
listed simulator >>sources
[ "$(wc -l <sources)" -ge 8 ] || fail "docs/firmware.md lists no sources"

# The component for the MCUXpresso SDK, read with functions in place of the SDK's, has the same lists.
cat >component.cmake <<'END'
function(mcux_add_source)
    cmake_parse_arguments(A "" "BASE_PATH" "SOURCES" ${ARGN})
    foreach(pattern IN LISTS A_SOURCES)
        file(APPEND component_sources "${pattern}\n")
    endforeach()
endfunction()
function(mcux_add_include)
    cmake_parse_arguments(A "" "BASE_PATH" "INCLUDES" ${ARGN})
    foreach(folder IN LISTS A_INCLUDES)
        file(APPEND component_includes "${folder}\n")
    endforeach()
endfunction()
set(CONFIG_MCUX_COMPONENT_middleware.nucleon y)
set(CONFIG_MCUX_COMPONENT_middleware.nucleon.simulator y)
include(${COMPONENT})
END
cmake -DCOMPONENT="$root/packaging/mcuxpresso/CMakeLists.txt" -P component.cmake || fail "the component cannot be read"
cmp sources component_sources || fail "docs/firmware.md and packaging/mcuxpresso list other sources"
listed includes | cmp - component_includes || fail "docs/firmware.md and packaging/mcuxpresso list other include folders"

includes=$(listed includes | sed "s|^|-I$root/|")
flags=$(listed flags)
[ -n "$includes" ] && [ -n "$flags" ] || fail "docs/firmware.md lists no include folders or flags"

digits=$root/examples/digits
"$nucleon" compile "$digits/digits.pt2" --calibration "$digits/calibration.npz" -o digits.pte --quiet || fail "no program"
"$nucleon" codegen digits.pte --project digits --quiet || fail "no project"

while read -r pattern; do
    for file in "$root"/$pattern; do
        [ -f "$file" ] || fail "$pattern: there is no such source"
        echo "$file $(basename "$file").o"
    done
done <sources >jobs
[ -z "$(cut -d' ' -f2 jobs | sort | uniq -d)" ] || fail "two sources have the same name"
cc=arm-none-eabi-gcc
if command -v ccache >/dev/null; then cc="ccache $cc"; fi
# shellcheck disable=SC2086
xargs -P 2 -L 1 sh -c "$cc $(echo $flags) $(echo $includes) -Wall -Wextra -c \"\$0\" -o \"\$1\" || exit 255" <jobs >log 2>&1 ||
    fail "does not compile: $(cat log)"
[ ! -s log ] || fail "warnings: $(cat log)"

cd digits || exit 2
for form in c pte; do
    case $form in
    c) own="program/inference_c.c program/digits.c program/digits_data.c" ;;
    pte) own="program/inference_pte.c program/slots.S program/digits_tables.c" ;;
    esac
    # shellcheck disable=SC2086
    arm-none-eabi-gcc $(echo $flags) -I"$root/include" -I. -Iprogram -DPACKAGE='"program/digits.npk"' main.c $own port/*.c \
        port/mps2_an505/*.c ../*.o -nostartfiles -T port/mps2_an505/mps2_an505.ld -Wl,--gc-sections -lm -o $form.elf 2>log ||
        fail "$form: is not linked: $(cat log)"
    sh run.sh $form.elf >ran || fail "$form: QEMU: $(cat ran)"
    echo "ok   $form: $(head -n 1 ran)"
done

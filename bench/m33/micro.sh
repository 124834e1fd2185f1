#!/bin/sh
# micro.sh MODEL.tflite IMAGE.elf: an image for tools/firmware_run.sh that runs the model by LiteRT Micro with the kernels of
# CMSIS-NN, in the options of its release build. CHECKOUTS: a folder with checkouts by git, with files or bare, of tflite-micro,
# CMSIS-NN, flatbuffers, gemmlowp and ruy. MICRO: a folder that keeps what is built of these for the next model.
[ $# -eq 2 ] && [ -n "${CHECKOUTS:-}" ] || { echo "usage: CHECKOUTS=FOLDER micro.sh MODEL.tflite IMAGE.elf" >&2; exit 2; }
# shellcheck source=bench/m33/begin.sh
. "$(dirname "$0")/begin.sh"
micro=${MICRO:-$work/micro}
tree=$micro/tree
options="$board $sections -fno-exceptions -fno-unwind-tables -fno-asynchronous-unwind-tables
    -fmessage-length=0 -w -DNDEBUG -DTF_LITE_STATIC_MEMORY -DTF_LITE_STRIP_ERROR_STRINGS -DTF_LITE_DISABLE_X86_NEON -DCMSIS_NN
    -I$tree -I$tree/include -I$tree/CMSIS-NN -I$tree/CMSIS-NN/Include"
cxx="-std=c++17 -fno-rtti -fno-threadsafe-statics"

# checked_out NAME FOLDER PATH...: files of a checkout, into a folder of the tree.
checked_out() {
    from=$CHECKOUTS/$1 to=$tree/$2
    mkdir -p "$to"
    shift 2
    git -C "$from" archive HEAD "$@" >"$work/files.tar" || { echo "micro.sh: $from: is no checkout of it: clone it" >&2; exit 1; }
    tar -x -C "$to" -f "$work/files.tar"
}

# objects OPTIONS FILE...: those of sources, each made once, named on a line.
objects() {
    own=$1
    shift
    for file; do
        object=$micro/objects/$(printf '%s' "${file#"$tree/"}" | tr / _).o
        case $file in *.c) language='' compiler=gcc ;; *) language=$cxx compiler=g++ ;; esac
        # shellcheck disable=SC2086
        [ -f "$object" ] || arm-none-eabi-$compiler $options $language $own -c "$file" -o "$object"
        echo "$object"
    done
}

if [ ! -d "$micro/objects" ]; then
    checked_out tflite-micro . tensorflow/lite tensorflow/compiler signal
    checked_out CMSIS-NN CMSIS-NN Include Source
    checked_out flatbuffers . include
    checked_out gemmlowp . fixedpoint internal
    checked_out ruy . ruy/profiler
    # The schema asks for the version of FlatBuffers that wrote it; later ones have what it uses.
    sed -i '/^static_assert(FLATBUFFERS_VERSION_MAJOR/,/;$/d' "$tree"/tensorflow/compiler/mlir/lite/schema/schema_generated.h \
        "$tree"/tensorflow/lite/schema/schema_generated.h
    mkdir -p "$micro/objects"
fi
lite=$tree/tensorflow/lite
kernels=$lite/micro/kernels

"${NUCLEON:-$root/build/release/nucleon}" inspect "$1" >"$work/model.txt"
sed -n 's/^  .* = \([A-Z0-9_]*\)(.*/\1/p' "$work/model.txt" | sort -u >"$work/operators"
# CONV_2D: AddConv2D(), registered by Register_CONV_2D(), which a file of CMSIS-NN's kernels has, or one of the others.
awk '{ n = split(tolower($1), words, "_"); call = ""
       for (i = 1; i <= n; i++) call = call toupper(substr(words[i], 1, 1)) substr(words[i], 2)
       sub(/2d$/, "2D", call); calls = calls " resolver.Add" call "();" }
     END { print "#define MICRO_N_OPERATORS " NR; print "#define MICRO_OPERATORS" calls }' "$work/operators" >"$work/operators.h"
: >"$work/kernels"
while read -r operator; do
    for file in $(grep -lE "Register_$operator\(\)" "$kernels"/cmsis_nn/*.cc "$kernels"/*.cc | grep -v _test); do
        name=$(basename "$file" .cc)
        echo "$file"
        ls "$kernels/${name}_common.cc" 2>/dev/null || true
        break
    done
done <"$work/operators" >>"$work/kernels"
printf '.section .program, "a", %%progbits\n.balign 16\n.global micro_model\nmicro_model:\n.incbin "%s"\n' "$1" >"$work/model.S"
{
    # shellcheck disable=SC2046
    objects -Os $(find "$lite/core" "$lite/kernels" "$tree/tensorflow/compiler" "$lite"/micro/*.cc "$lite/micro/memory_planner" \
        "$lite/micro/arena_allocator" "$lite/micro/tflite_bridge" -name '*.cc' ! -name '*test*' ! -name '*recording*' \
        ! -name 'mock*' ! -name 'fake*' ! -name 'debug_log.cc' ! -name 'system_setup.cc')
    # shellcheck disable=SC2046
    objects -O2 $(sort -u "$work/kernels") "$kernels"/kernel_util.cc
    # shellcheck disable=SC2046
    objects -O2 $(find "$tree/CMSIS-NN/Source" -name '*.c' ! -name '*_f16.c' ! -name '*_f32.c')
} >"$work/objects"
# shellcheck disable=SC2086
for file in "$work/model.S" "$root/bench/m33/micro.cc" "$port/print.c" "$port/startup.c" "$port/semihosting.c" \
    "$port/mps2_an505/counter.c"; do
    case $file in *.cc) compiler="g++ $options $cxx" ;; *) compiler="gcc $board -std=c11" ;; esac
    arm-none-eabi-$compiler -Os $sections -I "$work" -I "$root" -I "$root/include" -I "$root/src" \
        -c "$file" -o "$work/$(basename "$file").o"
done
# shellcheck disable=SC2046,SC2086
arm-none-eabi-g++ $board -nostartfiles -T "$port/mps2_an505/mps2_an505.ld" -Wl,--gc-sections -o "$2" "$work"/*.o \
    $(cat "$work/objects") -lm

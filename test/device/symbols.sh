#!/bin/sh
# Device libraries keep their promise: no allocation, no stdio, no writable data, no function whose result is a C
# library's choice. symbols.sh NM LIBRARY...
# Prints the code size of each library. A library that is missing is a failure.
set -u
[ $# -ge 2 ] || { echo "usage: symbols.sh NM LIBRARY..." >&2; exit 2; }
nm=$1
size=${nm%nm}size
shift
failures=0
# Functions a freestanding library must not need, as they appear after nm's letter U.
forbidden='malloc|calloc|realloc|free|aligned_alloc|posix_memalign|_malloc_r|_free_r|sbrk|_sbrk|
printf|fprintf|sprintf|snprintf|vsnprintf|puts|putchar|fputs|fwrite|fread|fopen|fclose|open|read|write|
expf?|exp2f?|expm1f?|logf?|log2f?|log10f?|log1pf?|powf?|tanhf?|sinhf?|coshf?|asinhf?|acoshf?|atanhf?|sinf?|cosf?|tanf?|
asinf?|acosf?|atanf?|atan2f?|erff?|erfcf?|fmaf?|
abort|exit|assert|__assert_fail|__assert_func|__stack_chk_fail|setjmp|longjmp|signal|getenv|strtod|strtol|qsort|time|clock'
forbidden=$(printf '%s' "$forbidden" | tr -d '\n')

for library in "$@"; do
    if [ ! -f "$library" ]; then
        echo "FAIL $library: is missing"
        failures=$((failures + 1))
        continue
    fi
    symbols=$("$nm" "$library" 2>/dev/null)
    if ! printf '%s\n' "$symbols" | grep -q ' [Tt] '; then
        echo "FAIL $library: holds no code"
        failures=$((failures + 1))
        continue
    fi
    needed=$(printf '%s\n' "$symbols" | grep -E "^ *U ($forbidden)\$" | sort -u)
    # By section: constant tables of pointers lie in .data.rel.ro of position-independent code and are not writable.
    # device.c of the driver holds what the public API sets without a handle.
    written=$("$size" -A "$library" | awk '/\(ex / {member = $1} member != "device.c.o" && member != "device.c.obj" && $1 ~ /^\.(data|bss|tdata|tbss|sdata|sbss)/ && $1 !~ /^\.data\.rel\.ro/ &&
        $2 > 0 {print $1}' | sort -u)
    common=$(printf '%s\n' "$symbols" | grep ' C ')
    if [ -n "$needed" ]; then
        echo "FAIL $library: needs" $needed
        failures=$((failures + 1))
    fi
    if [ -n "$written$common" ]; then
        echo "FAIL $library: writable data:" $written $common
        failures=$((failures + 1))
    fi
    "$size" -t "$library" 2>/dev/null | tail -1 |
        awk -v name="$(basename "$library")" '{printf "%-24s text %8d  data %6d  bss %6d\n", name, $1, $2, $3}'
done
[ $failures -eq 0 ]

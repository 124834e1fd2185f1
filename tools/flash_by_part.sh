#!/bin/sh
# flash_by_part.sh IMAGE.map: bytes of code and constant data that each library, and each object of the runtime, brings
# to an image, from the linker's map.
set -eu
[ $# -eq 1 ] && [ -f "$1" ] || { echo "usage: flash_by_part.sh IMAGE.map" >&2; exit 2; }
awk '
    function hex(text,    i, n) {
        for (i = 3; i <= length(text); i++) n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
        return n
    }
    function add(size, file,    library) {
        sub(/.*\//, "", file)
        library = file
        sub(/\(.*/, "", library)
        part[library] += hex(size)
        if (library == "libnuc_runtime.a") runtime[file] += hex(size)
    }
    /^Linker script and memory map/ { on = 1 }
    !on { next }
    # " .text.name  0xaddress 0xsize file", where a long name has the rest on the next line.
    /^ \.(text|rodata)/ { if (NF >= 4) add($3, $4); pending = NF == 1; next }
    pending { if (NF >= 3) add($2, $3); pending = 0 }
    END {
        for (p in part) if (part[p] > 0) printf "%7d %s\n", part[p], p | "sort -rn"
        close("sort -rn")
        for (p in runtime) if (runtime[p] > 0) printf "%7d   %s\n", runtime[p], p | "sort -rn"
    }' "$1"

#!/bin/sh
# An example's own script, with a part of its samples in QEMU: what it prints is worth what its README says. Then its
# check.py, where it has one.
#   example.sh NUCLEON SOURCE_ROOT FIRMWARE_BUILD EXAMPLE SAMPLES [COLUMN:FIGURE:LEAST[:MOST] ...]
# SAMPLES: those that the firmware runs, or all. FIRMWARE_BUILD is kept: examples share the device libraries in it.
# 77, "skipped", without the Arm toolchain or QEMU.
set -u
[ $# -ge 6 ] || { echo "usage: example.sh NUCLEON SOURCE_ROOT FIRMWARE_BUILD EXAMPLE SAMPLES FLOOR..." >&2; exit 2; }
for tool in arm-none-eabi-gcc qemu-system-arm; do
    command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done
case $1 in /*) NUCLEON=$1 ;; *) NUCLEON=$PWD/$1 ;; esac
FIRMWARE_BUILD=$3
export NUCLEON FIRMWARE_BUILD
example=$(cd "$2/examples/$4" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failures=0
python=/usr/bin/python3 # Debian's, which Debian's packages are for
$python -c 'import numpy' || { echo "FAIL Debian's python3-numpy is missing: 'make test' installs it" >&2; exit 1; }
sh "$example/run.sh" --out "$work" --firmware-samples "$5" >"$work/page" || { echo "FAIL $4: run.sh" >&2; exit 1; }
cat "$work/page"
# The rows of its README are those that are printed, but for what depends on the compiler and on the number of samples.
awk -v samples="$5" '
    /^(flash of|instructions in)/ || (samples != "all" && /firmware|in QEMU/) { next }
    FNR == NR && /^```/ { inside = 0 }
    FNR == NR && inside { shown[$0] = 1; rows++ }
    FNR == NR && /^\$ sh .*run\.sh$/ { inside = 1 }
    FNR != NR && !($0 in shown) { print "FAIL README.md does not have:\n" $0; bad = 1 }
    FNR != NR { printed++ }
    END { if (rows != printed || rows < 5) { print "FAIL " rows + 0 " rows in README.md, " printed + 0 " printed"; bad = 1 }; exit bad }
' "$example/README.md" "$work/page" >&2 || failures=1
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
# An installed copy, where nothing else of the sources is, says the same of the programs.
if [ "$4" = digits ]; then
    cp -r "$2/examples" "$work/examples"
    (cd "$work" && sh examples/digits/run.sh) >"$work/copy" || { echo "FAIL a copy of digits: run.sh" >&2; failures=1; }
    grep -v firmware "$work/copy" >"$work/figures"
    awk 'FNR == NR { shown[$0] = 1; next } !($0 in shown) { print "FAIL a copy prints:\n" $0; bad = 1 } END { exit bad || FNR < 6 }' \
        "$work/page" "$work/figures" >&2 || failures=1
fi
[ ! -f "$example/check.py" ] || $python "$example/check.py" "$work" || failures=1
shift 5
for floor in "$@"; do
    awk -v floor="$floor" '
        BEGIN { n = split(floor, f, ":") }
        $1 == f[1] && $2 == f[2] {
            found = 1
            if ($3 < f[3] || (n > 3 && $3 > f[4])) { print "FAIL " $0 ": not within " floor; bad = 1 }
        }
        END { if (!found) print "FAIL no figure " floor; exit bad || !found }' "$work/figures.txt" >&2 ||
        failures=$((failures + 1))
done
[ $failures -eq 0 ]

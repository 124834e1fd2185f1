#!/bin/sh
# Paths of all lengths: path_lengths.sh NUCLEON SOURCE_ROOT [STEP]. Each command gets paths of 1 to 4,095 bytes, of every
# STEP-th length and of those next to powers of two and the system's limits, for a file that is read, damaged, missing or
# written; and names of 255 bytes. It ends with its exit code, and a failure with one line that has its cause. In a
# sanitized build nothing else may be said.
set -u
LC_ALL=C
export LC_ALL
[ $# -eq 2 ] || [ $# -eq 3 ] || { echo "usage: path_lengths.sh NUCLEON SOURCE_ROOT [STEP]" >&2; exit 2; }
case $1 in /*) nucleon=$1 ;; *) nucleon=$PWD/$1 ;; esac
d=$(cd "$2" && pwd)/examples/digits
step=${3:-1999}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2
cases=0
failures=0

ln -s "$d/test.npz" n
ln -s "$d/digits.pt2" m
"$nucleon" compile m --calibration "$d/calibration.npz" -o p --accuracy fast >/dev/null || exit 1
"$nucleon" quantize m --calibration "$d/calibration.npz" -o q --accuracy fast >/dev/null || exit 1
sed 's/aten::/atex::/; s/NeutronBackend/NeutronBackenX/' p >u # a program with names that nobody knows
head -c 1000 m >c                                            # a model cut short
head -c 3000 p >b                                            # a program cut short
mkdir f
slashes=$(head -c 4095 /dev/zero | tr '\000' /)

# path LENGTH NAME: of that length, by slashes that change nothing.
path() {
    if [ "$1" -lt $((${#2} + 2)) ]; then
        printf '%.*s' "$1" "$2"
    else
        printf '.%.*s%s' $(($1 - ${#2} - 1)) "$slashes" "$2"
    fi
}

# try CODE CAUSE COMMAND...: a failure says its cause in one line; code 0 comes without messages.
try() {
    wanted=$1
    cause=$2
    shift 2
    cases=$((cases + 1))
    "$nucleon" "$@" >out 2>err
    code=$?
    if [ $code -ne "$wanted" ]; then
        why="exit code $code instead of $wanted"
    elif [ "$wanted" -eq 0 ] && grep -q "^nucleon: \|Sanitizer" err; then
        why="a message"
    elif [ "$wanted" -ne 0 ] && [ "$(wc -l <err)" -ne 1 ]; then
        why="$(wc -l <err) lines"
    elif [ "$wanted" -ne 0 ] && ! grep -q -e "$cause" err; then
        why="no '$cause'"
    else
        return
    fi
    failures=$((failures + 1))
    echo "FAIL length $length, $1: $why: $(head -c 100 err) ... $(tail -c 300 err)"
}

each_length() {
    length=1
    while [ $length -le 4095 ]; do
        echo $length
        length=$((length + step))
    done
    for near in 80 128 255 512 1000 1024 4095; do
        for length in $((near - 1)) $near; do
            [ $length -gt 4095 ] || echo $length
        done
    done
}

for length in $(each_length | sort -nu); do
    # Short ones stay what they are.
    [ $length -ge 3 ] || continue
    try 1 'No such file' compile "$(path $length x)" -o o
    try 1 'damaged zip archive' compile "$(path $length c)" -o o
    try 1 'is an ExecuTorch program' compile "$(path $length p)" -o o
    try 1 'is a folder' inspect "$(path $length f)"
    try 1 . run "$(path $length u)" -i n
    try 1 . run "$(path $length b)" -i n
    try 0 '' run "$(path $length p)" -i "$(path $length n)" -o "$(path $length o)"
    try 1 'not data' run p -i "$(path $length p)"
    try 1 'does not exist' run p -i n -o "$(path $length none/o)"
    try 2 'are the same file' quantize m --calibration n -o "$(path $length m)"
    try 0 '' compile q -o "$(path $length o)" --memory-map "$(path $length w)"
    try 2 'not a command' "$(path $length x)"
    try 2 'unknown option' compile "--$(path $length x)"
    try 2 'unknown target' compile m -o o --target "$(path $length x)"
    try 2 'takes one of' compile m -o o --accuracy "$(path $length x)"
    try 2 'takes a number' run p -i n --threads "$(path $length x)"
    try 3 'must be delegated\|stay on the CPU' explain "$(path $length q)" --require-full-delegation --no-delegate
    try 3 'cycles' explain "$(path $length q)" --cycle-budget 1
    try 1 . codegen "$(path $length b)" -o f
    try 1 'not a LiteRT model' convert -i "$(path $length m)" -o o
done

length=255
name=$(printf '%s' "$slashes" | head -c 255 | tr / x)
try 0 '' compile q -o "$name"
mkdir "f/$name"
cp "$name" "f/$name/$name"
try 0 '' run "f/$name/$name" -i n -o "f/$name/o"
length=256
try 1 'File name too long' compile q -o "x$name"
try 1 'File name too long' compile "x$name" -o o
echo "paths: $cases cases, $failures failed"
[ $failures -eq 0 ]

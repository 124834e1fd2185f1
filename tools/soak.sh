#!/bin/sh
# soak.sh BUILD [PART...]: the tests that take long, one line each: "name: N cases, N failed"; the last line is
# "N passed, N failed". Without PART all of them; "soak.sh --list" names them and says how long each takes on two cores.
#
# A part is a function part_NAME, which prints that line last and whatever led to it before, and a row of the list. A
# slice of each is in the suite, which "make test" passes.
set -u
cd "$(dirname "$0")/.." || exit 2
root=$PWD

# name, minutes on two cores, what it does
parts() {
    cat <<'LIST'
memory         10  every allocation of a compilation, an explanation and a tuning fails once, in the library
fault          20  every command with its n-th allocation or system call failing, or killed at it, for all n
tsan           15  what runs in threads, under ThreadSanitizer
contract       20  what compiles runs: 5,000 small models of every rank, dim order and element type
metamorphic    10  2,000 models: what must not change a program does not
paths          60  every command with paths of 1 to 4,095 bytes, under AddressSanitizer
differential   20  20,000 random networks: evaluator and program agree at every operator
strips          5  3,000 random networks: programs in strips of rows give the bytes of those without
selftest        2  100 faults on a board are named at their node
pages           3  figures of the pages that need the reference data in ../shared
fuzz           25  every boundary with damaged input: libFuzzer for 90 seconds on each target
LIST
}

# Runs unit tests over all cases instead of some; a case is a test function.
unit_tests() {
    line=$1
    shift
    for test in "$@"; do
        NUCLEON_SOAK=1 "$build/test/unit/test_$test" 2>&1
    done | awk -v line="$line" '
        { print }
        /^\[       OK \]/ { passed++ }
        /^\[  FAILED  \] [a-z_]+$/ { failed[$4] = 1 }
        END { for (f in failed) n++
              printf "%s: %d cases, %d failed\n", line, passed + n, n }'
}

part_memory() {
    unit_tests memory compiler tune evaluate host partition pt2_write
}

part_pages() {
    python3 test/docs/check.py --build "$build" --everything | awk '
        { print }
        /^[0-9]+ pages: / { cases = $3 + $9; failed = $14 }
        END { printf "pages: %d cases, %d failed\n", cases, cases ? failed : 1 }'
}

part_selftest() {
    python3 test/e2e/selftest.py "$build/nucleon" . 100 | awk '
        { print }
        /^[0-9]+ of [0-9]+ faults/ { cases = $3; failed = $3 - $1 }
        END { printf "selftest: %d cases, %d failed\n", cases, cases ? failed : 1 }'
}

# A build of its own, and the tests of its inputs.
part_fuzz() {
    cmake --preset fuzz -DBUILD_TESTING=ON && cmake --build --preset fuzz &&
        ctest --test-dir build/fuzz -R '^fuzz\.' --output-on-failure --no-tests=error && sh tools/fuzz.sh build/fuzz 90s
}

part_fault() {
    "$build/test/fault/sweep" "$build/nucleon" "$build/test/fault/libfault_shim.so" "$root"
}

# A build of its own, of the parts with threads: simulator, evaluator, calibration, several compilers at once.
part_tsan() {
    tests="threads vector shared_loops eval eval_ops quantize accuracy faults driver"
    cmake --preset tsan -DBUILD_TESTING=ON &&
        cmake --build build/tsan --target nucleon $(printf 'test_%s ' $tests) || return
    build=$root/build/tsan
    unit_tests tsan $tests
}

part_contract() {
    "$build/test/contract/contract" --models 5000 --code 7 --include "$root/include"
}

part_metamorphic() {
    "$build/test/contract/metamorphic" --models 2000
}

# A case is a command with a path.
part_paths() {
    cmake --preset asan && cmake --build build/asan --target nucleon &&
        sh test/e2e/path_lengths.sh build/asan/nucleon . 1
}

part_differential() {
    "$build/test/differential/differential" --graphs 20000 --quiet 2>&1 | awk '
        { print }
        / graphs of / { sub(/.*: /, ""); printf "differential: 20000 cases, %d failed\n", $1; said = 1 }
        END { if (!said) print "differential: 20000 cases, 1 failed" }'
}

part_strips() {
    "$build/test/differential/strips" --graphs 3000 | awk '
        { print }
        /^strips: / { printf "strips: 3000 cases, %d failed\n", $(NF - 1); said = 1 }
        END { if (!said) print "strips: 3000 cases, 1 failed" }'
}

# ---- running them ----

if [ $# -ge 1 ] && [ "$1" = --list ]; then
    parts
    exit 0
fi
[ $# -ge 1 ] || { echo "usage: soak.sh BUILD [PART...] | soak.sh --list" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
shift
known=$(parts | awk '{ print $1 }')
[ $# -gt 0 ] || set -- $known
for name in "$@"; do
    echo "$known" | grep -qxF "$name" || { echo "soak.sh: '$name' is not a part; 'soak.sh --list' names them" >&2; exit 2; }
done
echo "$(parts | awk -v wanted=" $* " 'index(wanted, " " $1 " ") { sum += $2 } END { print sum + 0 }') minutes on two cores" >&2
logs=$root/out/soak
mkdir -p "$logs"
passed=0
failed=0
for name in "$@"; do
    started=$(date +%s)
    "part_$name" >"$logs/$name.log" 2>&1
    line=$(tail -n 1 "$logs/$name.log")
    case $line in
    "$name: "*" cases, 0 failed"*) passed=$((passed + 1)) ;;
    "$name: "*) failed=$((failed + 1)) ;;
    *)
        failed=$((failed + 1))
        line="$name: 0 cases, 1 failed"
        ;;
    esac
    echo "$line ($(($(date +%s) - started)) s, out/soak/$name.log)"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

# What the scripts of this folder begin with that are called SCRIPT.sh NUCLEON SOURCE_ROOT ...; they read it with '.'.
# They are in an empty folder then, which goes when they end. `nucleon`, `root` and `digits` are absolute paths.
# shellcheck shell=sh disable=SC2034
set -u
LC_ALL=C
export LC_ALL
[ $# -ge 2 ] || { echo "usage: $0 NUCLEON SOURCE_ROOT ..." >&2; exit 2; }
case $1 in /*) nucleon=$1 ;; *) nucleon=$PWD/$1 ;; esac
root=$(cd "$2" && pwd) || exit 2
digits=$root/examples/digits
work=$(mktemp -d) || exit 2
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 2
failures=0
passes=0

fail() {
    echo "FAIL $*" >&2
    failures=$((failures + 1))
}

# check NAME CONDITION...: a failure with that name where the condition, a command, does not hold.
check() {
    name=$1
    shift
    if "$@"; then
        passes=$((passes + 1))
    else
        fail "$name"
    fi
}

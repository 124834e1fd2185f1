#!/bin/sh
# packages.sh BUILD SOURCE_ROOT: the Debian packages of what a build installs: each file in one of them, control files
# and permissions as Debian wants them, the version of CMakeLists.txt everywhere, the same bytes twice.
set -u
LC_ALL=C.UTF-8
export LC_ALL
[ $# -eq 2 ] || { echo "usage: packages.sh BUILD SOURCE_ROOT" >&2; exit 2; }
build=$1
root=$(cd "$2" && pwd)
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "$tool is not here: no packages were made"; exit 77; }
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failures=0
fail() {
    echo "FAIL $*" >&2
    failures=$((failures + 1))
}

# As 'make deb' configures it, without building again: libraries in the folder of the architecture, and Python's module.
stage=$work/stage
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
cmake --install "$build" --prefix "$stage/usr" >"$work/log" 2>&1 || fail "cmake --install: $(tail -3 "$work/log")"
mkdir "$work/lib"
if [ ! -d "$stage/usr/lib/$triplet" ]; then
    mv "$stage/usr/lib" "$work/lib/$triplet"
    mv "$work/lib" "$stage/usr/lib"
fi
mkdir -p "$stage/usr/lib/python3/dist-packages"
cp -r "$root/python/nucleon" "$stage/usr/lib/python3/dist-packages/"
find "$stage" -name __pycache__ -exec rm -r {} +

DEB_COMPRESSION=none sh "$root/tools/deb.sh" "$stage" "$work/one" >"$work/names" 2>"$work/log" ||
    fail "deb.sh: $(tail -3 "$work/log")"
version=$("$stage/usr/bin/nucleon" version | sed 's/nucleon //')
here=$(dpkg --print-architecture)
printf "%s_$version-1_%s.deb\n" nucleon "$here" libnucleon0 "$here" libnucleon-dev "$here" nucleon-runtime-source all \
    python3-nucleon all >"$work/expected"
sort "$work/names" >"$work/names.sorted"
sort -o "$work/expected" "$work/expected"
cmp -s "$work/names.sorted" "$work/expected" || fail "the packages are $(tr '\n' ' ' <"$work/names")"

while read -r deb; do
    name=${deb%%_*}
    file=$work/one/$deb
    [ "$(dpkg-deb -f "$file" Package Version | tr '\n' ' ')" = "Package: $name Version: $version-1 " ] ||
        fail "$deb: $(dpkg-deb -f "$file" Package Version)"
    for field in Maintainer Installed-Size Section Priority Description Architecture; do
        [ -n "$(dpkg-deb -f "$file" $field)" ] || fail "$deb has no $field"
    done
    [ -z "$(dpkg-deb -f "$file" Files)" ] || fail "$deb has the field Files"
    ! dpkg-deb -I "$file" control | grep -q '\${' || fail "$deb: a variable is left in the control file"
    dpkg-deb -c "$file" | sed 's/ -> .*//' >"$work/list"
    awk '$2 != "root/root" || ($1 ~ /^-/ && $1 != "-rw-r--r--" && $1 != "-rwxr-xr-x") || ($1 ~ /^d/ && $1 != "drwxr-xr-x")' \
        "$work/list" >"$work/bad"
    [ ! -s "$work/bad" ] || fail "$deb: $(head -2 "$work/bad")"
    for doc in copyright changelog.Debian.gz; do
        grep -q " ./usr/share/doc/$name/$doc\$" "$work/list" || fail "$deb has no $doc"
    done
    mkdir "$work/tree"
    dpkg-deb -x "$file" "$work/tree"
    dpkg-deb -I "$file" md5sums >"$work/md5sums"
    (cd "$work/tree" && md5sum --quiet -c ../md5sums) >"$work/log" 2>&1 || fail "$deb: $(head -2 "$work/log")"
    [ "$(wc -l <"$work/md5sums")" -eq "$(find "$work/tree" -type f | wc -l)" ] || fail "$deb: files without a sum"
    zcat "$work/tree/usr/share/doc/$name/changelog.Debian.gz" | grep -q "^nucleon ($version-1) " ||
        fail "$deb: the changelog is of another version"
    rm -r "$work/tree"
done <"$work/names"

# holds PACKAGE PATH...: the package has it. The first patterns are those of grep.
holds() {
    dpkg-deb -c "$work/one/$1"_*.deb | sed 's/ -> .*//; s/.* \.//' >"$work/list"
    package=$1
    shift
    for path; do
        grep -qx "$path" "$work/list" || fail "$package does not hold $path"
    done
}
holds nucleon /usr/bin/nucleon /usr/share/man/man1/nucleon.1.gz /usr/share/man/man1/nucleon-compile.1.gz \
    /usr/share/bash-completion/completions/nucleon '/usr/share/zsh/.*/_nucleon' /usr/share/nucleon/nucleon.schema.json \
    /usr/share/doc/nucleon/README.md /usr/share/doc/nucleon/docs/formats.md \
    /usr/share/doc/nucleon/examples/digits/digits.pt2
holds libnucleon0 "/usr/lib/$triplet/libnucleon.so.0" "/usr/lib/$triplet/libnucleon.so.$version"
holds libnucleon-dev /usr/include/nucleon/compile.h "/usr/lib/$triplet/libnucleon.so" \
    "/usr/lib/$triplet/pkgconfig/nucleon.pc" "/usr/lib/$triplet/cmake/nucleon/nucleonConfig.cmake"
holds nucleon-runtime-source /usr/src/nucleon/CMakeLists.txt /usr/src/nucleon/src/device/runtime/program_run.c \
    /usr/src/nucleon/include/nucleon/runtime.h
holds python3-nucleon /usr/lib/python3/dist-packages/nucleon/__init__.py
for package in nucleon libnucleon0; do
    dpkg-deb -f "$work/one/$package"_*.deb Depends | grep -q 'libc6 (>= .*libjansson4.*libpng16' ||
        fail "$package depends on $(dpkg-deb -f "$work/one/$package"_*.deb Depends)"
done
dpkg-deb -f "$work/one"/libnucleon-dev_*.deb Depends | grep -qF "libnucleon0 (= $version-1)" ||
    fail "libnucleon-dev takes another libnucleon0"

DEB_COMPRESSION=none sh "$root/tools/deb.sh" "$stage" "$work/two" >"$work/log" 2>&1 || fail "deb.sh, again"
for file in "$work"/one/*.deb; do
    cmp -s "$file" "$work/two/${file##*/}" || fail "${file##*/} is another one the second time"
done

# What no package has is found.
mkdir -p "$stage/usr/share/other"
echo surplus >"$stage/usr/share/other/surplus"
if DEB_COMPRESSION=none sh "$root/tools/deb.sh" "$stage" "$work/three" >"$work/log" 2>&1; then
    fail "a file that no package has is not found"
fi
[ "$failures" -eq 0 ] && echo passed

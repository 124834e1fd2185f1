#!/bin/sh
# deb.sh STAGE OUT: Debian packages of what 'cmake --install' put below STAGE/usr, by packaging/debian/control, into the
# folder OUT. The version is that of CMakeLists.txt, the date that of CHANGELOG.md: the same files make the same bytes.
# DEB_COMPRESSION=none makes them faster.
set -eu
umask 022
LC_ALL=C.UTF-8
export LC_ALL
[ $# -eq 2 ] || { echo "usage: deb.sh STAGE OUT" >&2; exit 2; }
fail() {
    echo "deb.sh: $*" >&2
    exit 1
}
for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v $tool >/dev/null || fail "$tool is missing: install dpkg-dev and binutils"
done
stage=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
debian=$source/packaging/debian
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

version=$(sed -n 's/^project(nucleon VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
date=$(sed -n "s/^## $version - \([0-9-]*\)\$/\1/p" "$source/CHANGELOG.md")
[ -n "$version" ] && [ -n "$date" ] || fail "CHANGELOG.md has no line '## $version - YEAR-MONTH-DAY'"
SOURCE_DATE_EPOCH=$(date -u -d "$date" +%s)
export SOURCE_DATE_EPOCH
revision=$version-1
here=$(dpkg --print-architecture)
maintainer=$(sed -n 's/^Maintainer: //p' "$debian/control")
maintainer="${DEBFULLNAME:-${maintainer% <*}} <${DEBEMAIL:-$(echo "$maintainer" | sed 's/.*<\(.*\)>/\1/')}>"
section=$(sed -n '/^Source:/,/^$/s/^Section: //p' "$debian/control")

# stanza PACKAGE: its lines in the control file. field NAME: of the stanza in $work/stanza.
stanza() {
    awk -v name="Package: $1" '$0 == name { on = 1 } /^$/ { on = 0 } on' "$debian/control"
}
field() {
    sed -n "s/^$1: //p" "$work/stanza"
}

# take PACKAGE: the files of its patterns, which name what lies below usr/, to a folder of its own.
take() {
    mkdir -p "$work/debian/$1/usr" "$work/debian/$1/DEBIAN"
    set -f
    for pattern in $(field Files); do
        (cd "$stage/usr" && find . \( -type f -o -type l \) -path "./$pattern")
    done >"$work/found"
    set +f
    [ -s "$work/found" ] || fail "nothing is installed of what $1 is to hold: $(field Files)"
    cat "$work/found" >>"$work/taken"
    tar -C "$stage/usr" -cf "$work/files.tar" -T "$work/found"
    tar -C "$work/debian/$1/usr" -xf "$work/files.tar"
}

# What dpkg-shlibdeps says of the programs and libraries of a package.
shared_libraries() {
    printf 'Source: nucleon\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/debian/control"
    binaries=$(cd "$work" && find "debian/$1/usr" -type f \( -path '*/bin/*' -o -name '*.so.*' \))
    # shellcheck disable=SC2086
    (cd "$work" && dpkg-shlibdeps -O -x"$1" $binaries) | sed -n 's/^shlibs:Depends=//p'
}

# Files as Debian has them: stripped, compressed where the policy says so, readable for all.
finish_files() {
    find "$work/debian/$1/usr" -type f -path '*/bin/*' -exec strip --remove-section=.comment --remove-section=.note {} +
    find "$work/debian/$1/usr" -type f -name '*.so.*' -exec strip --strip-unneeded --remove-section=.comment \
        --remove-section=.note {} +
    find "$work/debian/$1/usr" -type f -name '*.a' -exec strip --strip-debug --enable-deterministic-archives \
        --remove-section=.comment --remove-section=.note {} +
    find "$work/debian/$1/usr" -type f -path '*/man/man1/*' -exec gzip -9n {} +
    doc=$work/debian/$1/usr/share/doc/$1
    mkdir -p "$doc"
    rm -f "$doc/LICENSE"
    cp "$debian/copyright" "$doc/copyright"
    printf 'nucleon (%s) unstable; urgency=medium\n\n  * Version %s: see CHANGELOG.md of nucleon.\n\n -- %s  %s\n' \
        "$revision" "$version" "$maintainer" "$(date -u -R -d "$date")" | gzip -9n >"$doc/changelog.Debian.gz"
    gzip -9nc "$source/CHANGELOG.md" >"$doc/changelog.gz"
    find "$work/debian/$1" -type d -exec chmod 755 {} +
    find "$work/debian/$1/usr" -type f -exec chmod 644 {} +
    find "$work/debian/$1/usr" -type f \( -path '*/usr/bin/*' -o -path '*/examples/*.sh' \) -exec chmod 755 {} +
}

write_control() {
    size=$(find "$work/debian/$1/usr" -type f -printf '%s\n' | awk '{ n += int(($1 + 1023) / 1024) } END { print n }')
    shlibs=
    ! grep -q 'shlibs:Depends' "$work/stanza" || shlibs=$(shared_libraries "$1")
    {
        sed -n '1p' "$work/stanza"
        printf 'Source: nucleon\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %s\nPriority: optional\n' \
            "$revision" "$arch" "$maintainer" "$size"
        grep -q '^Section:' "$work/stanza" || echo "Section: $section"
        sed "1d; /^Files:/d; /^Architecture:/d; s/\${version}/$revision/; s/\${shlibs:Depends}/$shlibs/" "$work/stanza"
    } >"$work/debian/$1/DEBIAN/control"
    (cd "$work/debian/$1" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$work/debian/$1/DEBIAN/md5sums"
    for script in postinst prerm shlibs triggers; do
        [ ! -e "$debian/$1.$script" ] || sed "s/#VERSION#/$version/" "$debian/$1.$script" >"$work/debian/$1/DEBIAN/$script"
    done
    chmod 644 "$work/debian/$1"/DEBIAN/*
    find "$work/debian/$1/DEBIAN" \( -name postinst -o -name prerm \) -exec chmod 755 {} +
}

packages=$(sed -n 's/^Package: //p' "$debian/control")
for package in $packages; do
    stanza "$package" >"$work/stanza"
    take "$package"
done
sort "$work/taken" >"$work/sorted"
(cd "$stage/usr" && find . -type f -o -type l) | sort >"$work/installed"
rest=$(comm -23 "$work/installed" "$work/sorted" | head -3 | tr '\n' ' ')
[ -z "$rest" ] || fail "no package has $rest"
twice=$(uniq -d "$work/sorted" | head -3 | tr '\n' ' ')
[ -z "$twice" ] || fail "two packages have $twice"

for package in $packages; do
    stanza "$package" >"$work/stanza"
    arch=$(field Architecture)
    [ "$arch" = all ] || arch=$here
    finish_files "$package"
    write_control "$package"
    find "$work/debian/$package" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    deb=${package}_${revision}_$arch.deb
    dpkg-deb "-Z${DEB_COMPRESSION:-xz}" --root-owner-group --build "$work/debian/$package" "$out/$deb" >/dev/null
    echo "$deb"
done

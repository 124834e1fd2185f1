#!/bin/sh
# Installs the Debian packages that are missing and says which: install_packages.sh PACKAGE...
set -eu

missing=
for package in "$@"; do
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
        missing="$missing $package"
    fi
done
[ -n "$missing" ] || exit 0

echo "Installing Debian packages:$missing"
run=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "install_packages.sh: not root and no sudo here; as root run: apt-get install$missing" >&2
        exit 1
    fi
    run=sudo
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for step in "update" "install -y --no-install-recommends$missing"; do
    # shellcheck disable=SC2086
    if ! $run env DEBIAN_FRONTEND=noninteractive apt-get $step >"$log" 2>&1; then
        cat "$log" >&2
        echo "install_packages.sh: 'apt-get $step' failed; the packages are named above" >&2
        exit 1
    fi
done

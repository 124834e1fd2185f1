#!/bin/sh
# Installs the Debian packages that are missing and says which: install_packages.sh PACKAGE... A terminal shows how far
# it is.
set -eu

# shellcheck source=tools/progress.sh
. "$(dirname "$0")/progress.sh"
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
trap 'rm -f "$log" "$log.code"' EXIT
for step in "update" "install -y --no-install-recommends$missing"; do
    # apt's status lines are "dlstatus:1:45.2:..." while it loads and "pmstatus:gcc:62.5:..." while it installs.
    {
        code=0
        # shellcheck disable=SC2086
        $run env DEBIAN_FRONTEND=noninteractive apt-get -o APT::Status-Fd=1 $step 2>&1 || code=$?
        echo $code >"$log.code"
    } | tee "$log" | progress "apt-get ${step%% *}" 's/^dlstatus:.*:\([0-9]*\)\.[0-9]*:.*/\1 100 download/p
        s/^pmstatus:.*:\([0-9]*\)\.[0-9]*:.*/\1 100 install packages/p'
    if [ "$(cat "$log.code")" -ne 0 ]; then
        grep -v '^[dp][lm]status:' "$log" >&2
        echo "install_packages.sh: 'apt-get $step' failed; the packages are named above" >&2
        exit 1
    fi
done

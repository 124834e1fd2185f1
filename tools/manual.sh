#!/bin/sh
# manual.sh NUCLEON DIR: what nucleon says about itself, as files to install: DIR/man/*.1, DIR/bash/nucleon and
# DIR/zsh/_nucleon.
set -eu
[ $# -eq 2 ] || { echo "usage: manual.sh NUCLEON DIR" >&2; exit 2; }
nucleon=$1
mkdir -p "$2/man" "$2/bash" "$2/zsh"
rm -f "$2"/man/*.1
"$nucleon" help --format man >"$2/man/nucleon.1"
"$nucleon" help --format commands >"$2/commands"
while read -r command; do
    "$nucleon" help --format man "$command" >"$2/man/nucleon-$command.1"
done <"$2/commands"
"$nucleon" help --format bash >"$2/bash/nucleon"
"$nucleon" help --format zsh >"$2/zsh/_nucleon"
rm "$2/commands"

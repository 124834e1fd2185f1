#!/bin/sh
# manual.sh NUCLEON SOURCE_ROOT MANUAL: manual pages say what --help says, in both directions; completion offers the
# commands, options, words and files of the same tables, in a real bash and, where there is one, a real zsh.
[ $# -eq 3 ] || { echo "usage: manual.sh NUCLEON SOURCE_ROOT MANUAL" >&2; exit 2; }
manual=$(cd "$3" && pwd)
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
LC_ALL=C.UTF-8
here=$root/test/e2e

same() {
    cmp -s "$2" "$3" || fail "$1: $(diff "$2" "$3" | head -4)"
}

"$nucleon" help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' >commands
[ "$(wc -l <commands)" -ge 14 ] || fail "commands are not found in 'nucleon help'"

# ---- manual pages ----

# Text of a page without the language of manual pages.
plain() {
    sed 's/\\f[BIR]//g; s/\\&//g; s/\\-/-/g; s/\\(aq/'"'"'/g; s/\\(ga/`/g; s/\\(ha/^/g; s/\\(ti/~/g; s/\\e/\\/g' "$1"
}

# One line per option, "-o, --output FILE what it does", of a help text and of a page.
options_of_help() {
    awk '/^Example/ { example = 1 }
         /^$/ { example = 0 }
         !example && (/^  -., --/ || /^      --/) { if (line) print line; line = $0; next }
         /^                            / { line = line " " $0; next }
         { if (line) print line; line = "" }
         END { if (line) print line }' "$1" | tr -s ' ' | sed 's/^ //; s/ $//'
}
options_of_page() {
    plain "$1" | awk '/^\.SH/ { options = /OPTIONS/ }
        !options { next }
        /^\.TP/ || /^\.SS/ { if (line) print line; line = ""; skip = 0; next }
        /^\.br/ { skip = 1 }
        !skip && !/^\.S/ { line = line == "" ? $0 : line " " $0 }
        END { if (line) print line }'
}

"$nucleon" help >help
plain "$manual/man/nucleon.1" >page
while read -r command; do
    brief=$(sed -n "/^  $command  /{s/^  [a-z-]* *//p;q}" help)
    grep -qx ".BR nucleon-$command (1)" page || fail "nucleon(1) does not name $command"
    grep -q "^$brief" page || fail "nucleon(1) does not say of $command: $brief"

    "$nucleon" help "$command" >help.txt
    own=$manual/man/nucleon-$command.1
    [ -s "$own" ] || { fail "there is no page for $command"; continue; }
    options_of_help help.txt >options.help
    options_of_page "$own" >options.page
    [ -s options.help ] || fail "$command has no options?"
    same "options of $command" options.help options.page
    sed -n '/^Examples*$/,/^$/p' help.txt | sed -n 's/^  //p' >examples.help
    plain "$own" | sed -n '/^\.EX$/,/^\.EE$/p' | sed '1d;$d' >examples.page
    same "examples of $command" examples.help examples.page
    sed -n '1,/^$/p' help.txt | tr -s ' \n' ' ' | sed 's/^usage: //; s/ $//' >usage.help
    plain "$own" | sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCR/p' | sed '1d;$d' | tr -s ' \n' ' ' | sed 's/ $//' >usage.page
    same "usage of $command" usage.help usage.page
done <commands
[ "$(find "$manual/man" -name '*.1' | wc -l)" -eq $(($(wc -l <commands) + 1)) ] || fail "a page of no command is there"
for code in 0 1 2 3; do
    meaning=$(sed -n "/^Exit codes/,/^\$/s/^  $code  //p" help)
    [ -n "$meaning" ] || fail "'nucleon help' does not say what exit code $code is"
    for own in "$manual"/man/*.1; do
        plain "$own" | grep -qF "$meaning" || fail "$own does not say what exit code $code is"
    done
done
for word in imxrt700cm cortex-m33; do
    plain "$manual/man/nucleon-compile.1" | grep -q "^$word[,.]\$" || fail "the page of compile does not offer $word"
done
"$nucleon" version | sed 's/ /[ ]/' >version
grep -q "\"$(cat version)\"" "$manual/man/nucleon.1" || fail "nucleon(1) is of another version"
if command -v man >/dev/null && command -v groff >/dev/null; then
    for own in "$manual"/man/*.1; do
        man --warnings -E UTF-8 -l "$own" >rendered 2>warnings || fail "man cannot show $own"
        [ ! -s warnings ] || fail "$own: $(head -2 warnings)"
        [ -s rendered ] || fail "$own shows nothing"
    done
else
    echo "man and groff are not here: pages were not rendered"
fi

# ---- completion ----

mkdir box box/folder box/data.d
cd box || exit 2
touch a.pt2 'b c.tflite' d.pte e.npz f.html g.c
cat >../cases <<'E2'
nucleon co|codegen compare-device compile convert
nucleon help ev|evaluate
nucleon compile |a.pt2 b_c.tflite data.d folder
nucleon run |d.pte data.d folder
nucleon merge-kernel-selection g.c |data.d folder g.c
nucleon compile a.pt2 -o |d.pte data.d folder
nucleon compile a.pt2 --calibration |data.d e.npz folder
nucleon compile a.pt2 --calibration e|e.npz
nucleon compile a.pt2 --intermediates-dir |data.d folder
nucleon compile a.pt2 --memory-map f|f.html folder
nucleon report a.pt2 --compare |data.d f.html folder
nucleon compile a.pt2 --weights |per-channel per-tensor
nucleon compile a.pt2 --weights=|per-channel per-tensor
nucleon compile a.pt2 --weights=per-t|per-tensor
nucleon compile a.pt2 --target i|imxrt700 imxrt700cm
nucleon run d.pte --target cortex-m3|cortex-m33
nucleon ops --converter-flavor |sdk-3.1 sdk-3.2
nucleon compile a.pt2 --dump-after edge-|edge-passes
nucleon evaluate d.pte --min-|--min-accuracy --min-agreement --min-sqnr
nucleon evaluate d.pte --min-sqnr 20 --min-|--min-accuracy --min-agreement
nucleon compile a.pt2 --memory-budget |
nucleon compile a.pt2 --classes x --cl|--classes
nucleon targets --q|--quiet
E2
while read -r command; do
    "$nucleon" help "$command" | sed -n 's/^  \(-.,\|   \) \(--[a-z0-9-]*\).*/\2/p' | sort -u |
        sed "s/^/nucleon $command --|/"
done <../commands >../all_options

# expect SHELL OUT: what each line of the cases is to offer.
expect() {
    while IFS='|' read -r line words; do
        found=$(grep -F "$line	" "$2" | awk -F '\t' -v line="$line" '$1 == line { print $2 }' | sed 's/\\//g; s/ /_/g' |
            sort | tr '\n' ' ' | sed 's/ $//')
        [ "$found" = "$words" ] || fail "$1: '$line' offers '$found' instead of '$words'"
    done <../cases
    sed 's/\t/|/' "$2" | grep -- '--|' | grep -vxF -f ../all_options >../surplus
    [ ! -s ../surplus ] || fail "$1 offers what no help has: $(head -2 ../surplus)"
    sed 's/\t/|/' "$2" | sort >../offered
    grep -vxF -f ../offered ../all_options >../lacking
    [ ! -s ../lacking ] || fail "$1 does not offer: $(head -2 ../lacking)"
}
{ sed 's/|.*//' ../cases; sed 's/^/nucleon /; s/$/ --/' ../commands; } >../lines
if command -v bash >/dev/null; then
    bash --norc --noprofile "$here/complete.bash" "$manual/bash" ../bash.out <../lines || fail "bash"
    expect bash ../bash.out
    bash --norc --noprofile -c 'source "$1" && complete -p nucleon' bash "$manual/bash/nucleon" >../registered 2>&1 ||
        fail "bash does not know the completion: $(cat ../registered)"
fi
if command -v zsh >/dev/null; then
    zsh -f "$here/complete.zsh" "$manual/zsh" ../zsh.out <../lines || fail "zsh"
    expect zsh ../zsh.out
else
    echo "zsh is not here: its completion was not tried"
fi
[ "$failures" -eq 0 ] && echo passed

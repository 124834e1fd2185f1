#!/bin/sh
# Files and signals as a user meets them: files.sh NUCLEON SOURCE_ROOT.
# What is no regular file is refused and not waited for; outputs appear whole or not at all, with the mode that was
# there; a signal leaves neither a temporary file nor a converter behind.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
model=$root/test/fuzz/corpus/litert/conv.tflite
TMPDIR=$work/tmp
export TMPDIR
mkdir tmp bin out

has() { grep -q -- "$1" "$2"; }

# refused NAME TEXT ARGUMENT...: ends within seconds with exit code 1 and one line that has the text.
refused() {
    name=$1
    text=$2
    shift 2
    timeout 20 "$nucleon" "$@" >said 2>err
    code=$?
    check "$name: exit code $code, not 1: $(head -c 300 err)" [ $code -eq 1 ]
    check "$name: one line" [ "$(grep -c '^nucleon: ' err)" -eq 1 ]
    check "$name: '$text' is not in: $(head -c 300 err)" has "$text" err
}

# ---- what is read ----

mkfifo pipe
cp "$model" model.tflite
"$nucleon" compile "$model" -o good.pte >said
for command in "inspect pipe" "compile pipe -o out/x.pte" "run pipe --input pipe" "run good.pte --input pipe" \
    "codegen pipe -o out" "convert --input pipe --output out/x.tflite"; do
    # shellcheck disable=SC2086
    refused "$command" "is not a regular file but a pipe" $command
done
refused "a device" "is not a regular file but a device" inspect /dev/zero
refused "a folder" "out: is a folder, neither" inspect out
refused "a file of /proc" "without a size" inspect /proc/self/maps
refused "a file that is not there" "cannot be opened: No such file" inspect none
check "nothing is written" [ -z "$(ls -A out)" ]

# ---- what is written ----

umask 027
"$nucleon" compile "$model" -o new.pte >said
check "a new file has the mode of the umask" [ "$(stat -c %a new.pte)" = 640 ]
chmod 604 new.pte
mkdir links
ln -s ../new.pte links/one
ln -s one links/two
"$nucleon" compile "$model" -o links/two >said
check "an existing file keeps its mode" [ "$(stat -c %a new.pte)" = 604 ]
check "a link stays a link" [ -L links/two -a -L links/one ]
check "what it points to is the program" cmp -s new.pte good.pte
ln -s ../made.pte links/dangling
"$nucleon" compile "$model" -o links/dangling >said
check "a link to a file that is not there" cmp -s made.pte good.pte
ln -s loop links/loop
refused "a link to itself" "cannot be written: Too many levels" compile "$model" -o links/loop

long=$(printf '%0250d' 0).pte
"$nucleon" compile "$model" -o "out/$long" >said
check "a name of 254 bytes" cmp -s "out/$long" good.pte
check "no other file is made" [ "$(ls -A out)" = "$long" ]
rm "out/$long"
refused "a name of 256 bytes" "cannot be written: File name too long" compile "$model" -o "out/$(printf '%0252d' 0).pte"
refused "a full device" "/dev/full: cannot be written: No space left" compile "$model" -o /dev/full
printf 'before' >kept.pte
(
    ulimit -f 1
    refused "a file limit" "kept.pte: cannot be written: File too large" compile "$root/examples/digits/digits.pt2" \
        --calibration "$root/examples/digits/calibration.npz" -o kept.pte
    [ $failures -eq 0 ]
) || failures=$((failures + 1))
check "what was there stays when the new file cannot be written" [ "$(cat kept.pte)" = before ]
check "no temporary file is left" [ -z "$(ls -A out)$(ls -A | grep nucleon-)" ]

# The three files of codegen, and all outputs of compile, appear together.
mkdir -p three/good.c
printf 'old' >three/good.h
refused "one of three files" "three/good.c: cannot be written" codegen good.pte -o three
check "the first of the three is not replaced" [ "$(cat three/good.h)" = old ]
check "the third is not there" [ "$(ls -A three)" = "$(printf 'good.c\ngood.h')" ]
refused "the second output of compile" "none/map.txt: cannot be written" compile "$model" -o out/two.pte \
    --memory-map none/map.txt
check "the first output is not there" [ -z "$(ls -A out)" ]

"$nucleon" compile "$root/examples/digits/digits.pt2" --calibration "$root/examples/digits/calibration.npz" \
    -o digits.pte >said
refused "the second output of run" "/dev/full: cannot be written: No space left" run digits.pte --input "$root/examples/digits/test.npz" \
    --output out/results.npz --etdump /dev/full
check "the first output of run is not there" [ -z "$(ls -A out)" ]
"$nucleon" run digits.pte --input "$root/examples/digits/test.npz" --output out/results.npz --etdump out/x.etdump >said 2>err
check "both outputs of run" [ "$(ls -A out)" = "$(printf 'results.npz\nx.etdump')" ]

# ---- signals ----

# It says its process id, starts another process, and makes files and a folder.
cat >bin/slow <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    [ "$1" = --output ] && folder=${2%/*}
    shift
done
mkdir "$folder/inner"
echo x >"$folder/inner/y"
sleep 100 &
echo "$$ $!" >"$PIDS.new"
mv "$PIDS.new" "$PIDS"
wait
END
chmod +x bin/slow
PIDS=$work/pids
export PIDS

# Zombies whose parent has not asked for them have ended, too.
ended() {
    for pid in "$@"; do
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            kill -0 "$pid" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null || continue 2
            sleep 0.1
        done
        return 1
    done
}

# interrupted SIGNAL CODE: what the signal leaves behind.
interrupted() {
    rm -f pids
    printf 'before' >signal.pte
    # A shell without job control has its background processes ignore SIGINT: timeout sends it.
    timeout --preserve-status -k 30 -s "$1" 1.5 "$nucleon" compile "$model" -o signal.pte --placement greedy --converter "$work/bin/slow" \
        >said 2>err
    code=$?
    check "SIG$1: exit code $code, not $2" [ $code -eq "$2" ]
    check "SIG$1: the converter was running" [ -s pids ]
    # shellcheck disable=SC2046
    check "SIG$1: the converter and its child have ended" ended $(cat pids)
    check "SIG$1: temporary files are gone" [ -z "$(ls -A tmp)" ]
    check "SIG$1: the output is what it was" [ "$(cat signal.pte)" = before ]
}

interrupted INT 130
interrupted TERM 143
interrupted HUP 129
rm -f pids
timeout 20 "$nucleon" compile "$model" -o signal.pte --placement greedy --converter "$work/bin/slow" --converter-timeout 1 >said 2>err
check "a converter that takes too long" has 'is not done after 1 s' err
# shellcheck disable=SC2046
check "it and its child have ended" ended $(cat pids)
check "its files are gone" [ -z "$(ls -A tmp)" ]

[ $failures -eq 0 ] || { echo "$failures checks failed, $passes passed" >&2; exit 1; }
echo "$passes checks passed"

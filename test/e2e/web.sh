#!/bin/sh
# The page of `make web`: the same bytes and messages as the command line, under node and, where Chromium is installed, in
# the page as a user has it, opened as a file. web.sh NUCLEON SOURCE_ROOT; skipped where there is no emscripten.
command -v emcc >/dev/null && command -v node >/dev/null || {
    echo "skipped: the page is not built: apt-get install --no-install-recommends emscripten" >&2
    exit 77
}
sh "$2/tools/web.sh" || exit $?
# Chromium keeps a page from folders below /dev, where memory may be, under whatever name.
for TMPDIR in /tmp /var/tmp "$2"; do
    case $(readlink -f "$TMPDIR")/ in /dev/*) ;; *) break ;; esac
done
export TMPDIR
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"
tests=$root/test/e2e
build=$root/build/web

# ---- what the page may do ----

page=$build/nucleon.html
check "the page forbids to load and to send" grep -q "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:; frame-src blob:; img-src data:; base-uri 'none'; form-action 'none'\"" "$page"
for word in innerHTML outerHTML insertAdjacentHTML document.write 'eval(' XMLHttpRequest WebSocket sendBeacon 'fetch(' 'http:' 'https:'; do
    ! grep -l -F -e "$word" "$root"/web/*.js "$root"/web/*.html || fail "the page's sources use $word"
done

# ---- commands ----

cp "$digits"/*.pt2 "$digits"/*.npz "$tests"/*.pt2 "$tests"/*.npz "$root/examples/tutorial/motion.pt2" . || exit 2
cp "$root/examples/tutorial/samples.npz" motion.npz
cp -r "$root/test/fault/images" "$root/test/fault/tiny.pt2" . && mkdir jpegs && cp "$root"/test/fuzz/corpus/image/*.jpg jpegs || exit 2
"$nucleon" compile digits.pt2 --calibration calibration.npz -q -o digits.pte || fail "digits"
"$nucleon" compile digits.pt2 --calibration calibration.npz -q -o out.pte --intermediates-dir . || fail "LiteRT"
mv ./*_pure.et.tflite digits.tflite && rm out.pte ./*.et.tflite

# same NAME ARGUMENTS...: both write the same files and folders "out*", the same text and messages, with the same exit code.
same() {
    name=$1
    shift
    for where in native web; do
        rm -rf out* $where.made && mkdir $where.made
        if [ $where = native ]; then "$nucleon" "$@"; else node "$tests/web_command.js" "$build" "$@"; fi \
            >$where.text 2>$where.messages
        echo "exit code $?" >>$where.messages
        mv out* $where.made 2>/dev/null
    done
    # The runtime's own part of a buffer is smaller where pointers have 32 bits, as on the microcontroller.
    check "$name: files" diff -r -I ' call_memory\[' -I '_BYTES [0-9]*' native.made web.made
    check "$name: text" diff native.text web.text
    check "$name: messages" diff native.messages web.messages
}

# made NAME ARGUMENTS...: the same, and it is something.
made() {
    same "$@"
    grep -q -x 'exit code 0' native.messages && [ -n "$(ls native.made)" ] || fail "$1: $(cat native.messages)"
}

for target in imxrt700 mcxn947 cortex-m33 cortex-m55; do
    made "digits on $target" compile digits.pt2 --calibration calibration.npz --target $target -o out.pte
done
made "a report" report digits.pt2 --calibration calibration.npz --dataset test.npz -o out.html
made "motion" compile motion.pt2 --calibration motion.npz --accuracy high -o out.pte
made "int16" compile int16.pt2 --calibration int16.npz --activations int16 -o out.pte
made "a float program" compile features.pt2 --no-quantize -o out.pte
made "PNG" compile tiny.pt2 --calibration images --resize crop -o out.pte
made "JPEG" compile tiny.pt2 --calibration jpegs --resize stretch -o out.pte
made "LiteRT" compile digits.tflite -o out.pte
made "C" codegen digits.pte -o out
made "a project" codegen digits.pte --project out
same "no samples" compile digits.pt2 -o out.pte
same "no model" compile calibration.npz -o out.pte
same "a demand" compile digits_unsupported.pt2 --calibration calibration.npz --require-full-delegation -o out.pte

# ---- the page ----

for browser in chromium chromium-browser google-chrome; do
    command -v "$browser" >/dev/null && break
    browser=
done
if [ -z "$browser" ]; then
    echo "skipped: Chromium is not installed, the page was not opened"
else
    "$nucleon" compile digits.pt2 --calibration calibration.npz --target cortex-m33 -q -o m33.pte || fail "digits on a Cortex-M33"
    "$nucleon" codegen digits.pte -q -o digits-c && "$nucleon" codegen digits.pte -q --project digits-firmware || fail "codegen"
    "$nucleon" report digits.pt2 --calibration calibration.npz --dataset test.npz -o digits.html >/dev/null || fail "report"
    # A browser that stalls on a busy machine says nothing about the page: what fails is tried once more, and said.
    use_page() {
        rm -rf downloads profile unpacked
        timeout 600 node "$tests/web_page.js" "$(command -v "$browser")" "$page" "$work"
    }
    use_one_of_two() {
        use_page || { echo "the page failed in one browser and is tried in another" >&2 && use_page; }
    }
    check "the page" use_one_of_two
fi
echo "$passes checks passed, $failures failed"
[ "$failures" -eq 0 ]

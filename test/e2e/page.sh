#!/bin/sh
# The page of `nucleon report`: what its sources must not hold, and, where Chromium is installed, that its scripts run
# without an error on reports of networks, of nothing, and of names that look like markup.
# usage: page.sh NUCLEON SOURCE_DIR
set -eu
nucleon=$1
source=$2
page=$source/src/tools/report/page
digits=$source/examples/digits
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# Data are text: nothing turns them into markup or code. Nothing is loaded.
for word in innerHTML outerHTML insertAdjacentHTML document.write createContextualFragment 'eval(' 'new Function' 'fetch(' \
    XMLHttpRequest WebSocket sendBeacon 'import(' '@import' '//cdn'; do
    if grep -n -F -e "$word" "$page"/*; then fail "the page's sources use $word"; fi
done
if grep -n -E 'https?://' "$page"/* | grep -v -F 'SVG_NAMESPACE = "http://www.w3.org/2000/svg"'; then
    fail "the page's sources name an address"
fi
if grep -n -E 'url\(' "$page"/* | grep -v -E 'url\(#'; then fail "the page's sources load a file"; fi
for mark in '<!--CSS-->' '<!--DATA-->' '<!--JS-->'; do
    [ "$(grep -c -x -e "$mark" "$page/page.html")" = 1 ] || fail "page.html has not one line $mark"
done
grep -q "default-src 'none'" "$page/page.html" || fail "page.html does not forbid loading"
for file in "$page"/*; do
    [ "$(wc -l <"$file")" -lt 1000 ] || fail "$file has 1,000 lines or more"
done

"$nucleon" report "$digits/digits.pt2" --calibration "$digits/calibration.npz" --dataset "$digits/test.npz" \
    -o "$tmp/digits.html" >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
"$nucleon" report "$digits/digits_unsupported.pt2" --cpu float --calibration "$digits/calibration.npz" \
    -o "$tmp/float.html" >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
cat >"$tmp/device.log" <<'LOG'
selftest 1 digits nodes 2 cases 1
node 0 0 CPU cortex_m::quantize_per_tensor.out x (int8)
node 1 1.0 NPU CONV_2D stem + relu6
case 0
ok 0 68b6330b
bad 1 01234567 89abcdef
FAIL result node 1: 1.0 NPU CONV_2D stem + relu6
LOG
"$nucleon" report "$digits/digits_unsupported.pt2" --calibration "$digits/calibration.npz" -o "$tmp/unsupported.html" \
    --device "$tmp/device.log" >"$tmp/out" 2>&1 || fail "$(cat "$tmp/out")"
if grep -n -o -E '(src|href)="[^"]*"' "$tmp/digits.html" | grep -v -E '"(#|data:)'; then fail "the report links to files"; fi

browser=
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        browser=$name
        break
    fi
done
if [ -z "$browser" ]; then
    echo "skipped: Chromium is not installed, the page's scripts were not run"
    exit 0
fi

# The report with other data: with_data FILE <JSON
with_data() {
    cat >"$tmp/data.json"
    awk -v data="$tmp/data.json" '
        index($0, "<script type=\"application/json\" id=\"report\">") {
            printf "<script type=\"application/json\" id=\"report\">"
            while ((getline line < data) > 0) print line
            print "</script>"
            skip = 1
        }
        !skip { print }
        skip && index($0, "</script>") { skip = 0 }' "$tmp/digits.html" >"$1"
}

# The document that the scripts make of a page, without messages on the console: dom FILE >DOCUMENT
dom() {
    timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" --enable-logging=stderr \
        --virtual-time-budget=3000 --dump-dom "file://$1" 2>"$tmp/log" || fail "$(tail -3 "$tmp/log")"
    if grep -E 'CONSOLE' "$tmp/log" >&2; then fail "$1: messages on the console"; fi
}

expect() {
    grep -q -F -e "$2" "$1" || fail "$1: there is no '$2'"
}

refuse() {
    if grep -q -F -e "$2" "$1"; then fail "$1: there is '$2'"; fi
}

dom "$tmp/digits.html" >"$tmp/digits.dom"
for id in graph cycles memory errors accuracy about; do expect "$tmp/digits.dom" "<section id=\"$id\""; done
expect "$tmp/digits.dom" 'class="item npu"'
expect "$tmp/digits.dom" 'class="confusion"'
expect "$tmp/digits.dom" 'src="data:image/png;base64,'
refuse "$tmp/digits.dom" '<p class="notice">This part'
refuse "$tmp/digits.dom" '<p class="notice">The data of'

dom "$tmp/unsupported.html" >"$tmp/unsupported.dom"
expect "$tmp/unsupported.dom" 'class="item cpu"'
expect "$tmp/unsupported.dom" '<section id="device"'
expect "$tmp/unsupported.dom" '<strong>differs</strong>'
refuse "$tmp/digits.dom" '<section id="device"'
dom "$tmp/float.html" >"$tmp/float.dom"
expect "$tmp/float.dom" 'class="item cpu_float"'
expect "$tmp/unsupported.dom" '<strong>kernel_size=[3, 3] without dilation'
refuse "$tmp/unsupported.dom" '<p class="notice">This part'

echo '{}' | with_data "$tmp/nothing.html"
dom "$tmp/nothing.html" >"$tmp/nothing.dom"
expect "$tmp/nothing.dom" '<p class="empty">The report has no operators.'
refuse "$tmp/nothing.dom" '<p class="notice">This part'

echo '{"nodes": [' | with_data "$tmp/broken.html"
dom "$tmp/broken.html" >"$tmp/broken.dom"
expect "$tmp/broken.dom" '<p class="notice">The data of'

# Markup in every place where a name can be, a circle of modules, values that are no numbers.
with_data "$tmp/hostile.html" <<'JSON'
{"schema": 1, "nucleon": "\u003ci id=hostile>", "invocation": "\u003ci id=hostile>", "warnings": ["\u003ci id=hostile>"],
 "model": {"file": "\u003ci id=hostile>", "kind": "pt2", "inputs": [{"name": "\u003ci id=hostile>", "sizes": []}]},
 "target": {"name": "\u003ci id=hostile>"}, "summary": {"operators": 3, "on_npu": 2, "on_cpu": 1, "sqnr_db": "Infinity"},
 "nodes": [
  {"id": 0, "label": "\u003ci id=hostile>", "operator": "input", "inputs": []},
  {"id": 1, "label": "a/\u003ci id=hostile>", "operator": "aten.add", "module": "a\u003ci id=hostile>", "where": "npu", "partition": 7, "inputs": [0, 99], "sizes": [1], "cycles": 5, "sqnr_db": "-Infinity"},
  {"id": 2, "label": "b", "operator": "aten.\u003ci id=hostile>", "module": "b", "where": "nowhere", "inputs": [1], "cycles": null},
  {"id": 3, "label": "c", "operator": "aten.mul", "module": "a\u003ci id=hostile>", "where": "cpu", "inputs": [2], "rule": "\u003ci id=hostile>", "sqnr_db": "Infinity", "file": "\u003ci id=hostile>"},
  {"id": 4, "label": "d", "operator": "output", "inputs": [3, 0]}],
 "partitions": [{"tag": "\u003ci id=hostile>", "kernels": [{"kernel": "\u003ci id=hostile>", "cycles": 3, "nodes": [1, 42]}]}],
 "instructions": [{"operator": "\u003ci id=hostile>", "where": "npu", "cycles": 3, "nodes": [], "partition": 3}],
 "memory": [{"name": "\u003ci id=hostile>", "steps": 2, "bytes": 0, "tensors": [{"label": "\u003ci id=hostile>", "node": 9, "address": 0, "bytes": 0, "first": 0, "last": 1}]}],
 "on_cpu": [{"node": 3, "operators": [3], "reason": "\u003ci id=hostile>", "fix": {"text": "\u003ci id=hostile>"}, "lost_cycles": 3}],
 "splits": [{"before": ["\u003ci id=hostile>"], "after": [], "node": 3, "causes": 2, "saved_cycles": 1}],
 "options": [{"options": "\u003ci id=hostile>", "cycles": 1}],
 "evaluation": {"samples": 1, "outputs": [{"name": "\u003ci id=hostile>"}], "confusion": [[1, 2], [0, 0]], "class_names": ["\u003ci id=hostile>"],
  "examples": [{"sample": 0, "image": "javascript:alert(1)", "label": 0, "decision": 1, "reference": -1}]},
 "compare": {"old": {"invocation": "\u003ci id=hostile>", "summary": {"sqnr_db": 3}}, "moved": [{"label": "\u003ci id=hostile>", "from": "cpu", "to": "npu"}], "added": ["\u003ci id=hostile>"]}}
JSON
dom "$tmp/hostile.html" >"$tmp/hostile.dom"
refuse "$tmp/hostile.dom" '<i id'
refuse "$tmp/hostile.dom" '<p class="notice">This part'
expect "$tmp/hostile.dom" '<section id="compare"'
expect "$tmp/hostile.dom" 'class="confusion"'
if grep -E '<(img|a)[^>]*javascript:' "$tmp/hostile.dom"; then fail "an address of the data became a link"; fi

# Random networks: no node lies on another, none leaves its module, no edge runs through a node.
{
    sed '/<\/body>/,$d' "$tmp/digits.html"
    echo '<script>'
    cat "$source/test/e2e/page_layout.js"
    echo '</script></body></html>'
} >"$tmp/layout.html"
dom "$tmp/layout.html" >"$tmp/layout.dom"
grep -o '<p id="layout-result">[^<]*' "$tmp/layout.dom" | sed 's/.*>//' >"$tmp/result"
grep -q ' networks, 0 faults$' "$tmp/result" || fail "layout: $(cat "$tmp/result")"

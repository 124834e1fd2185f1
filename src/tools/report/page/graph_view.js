"use strict";
/* The drawing of a laid out graph. Only what lies in the window, and a margin around it, is in the document: thousands
 * of operators move as smoothly as ten. */

const NODE_HEIGHT = 42;
const FOLDED_HEIGHT = 22;
const GROUP_HEIGHT = 48;
const LABEL_WIDTH = 190;
const FAR = 0.42; /* scale below which items are too small for text */
const LEAST_TEXT = 11; /* pixels on the screen */
const LEAST_SCALE = 0.005;
const GREATEST_SCALE = 3;

const GRAPH_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const labelFont = (zoom) => "600 " + 12 * zoom + "px " + GRAPH_FONT;
const detailFont = (zoom) => "400 " + LEAST_TEXT * zoom + "px " + GRAPH_FONT;
const LABEL_FONT = labelFont(1), DETAIL_FONT = detailFont(1);

/* Zoomed out, text grows as much as the graph shrinks, in steps, so that it stays as large on the screen. */
function textZoom(view) {
    return view.whole || view.scale >= 1 ? 1 : 1.1 ** Math.ceil(Math.log(1 / view.scale) / Math.log(1.1) - 1e-9);
}

/* Widths of texts, asked for once. */
const textWidth = (() => {
    const known = new Map();
    let context = null;
    return (text, font) => {
        const key = font + text;
        if (!known.has(key)) {
            context = context || document.createElement("canvas").getContext("2d");
            context.font = font;
            known.set(key, context.measureText(text).width);
        }
        return known.get(key);
    };
})();

/* The text, or as much of its beginning and end as fits: paths differ at their ends. */
function fitted(text, font, width) {
    if (textWidth(text, font) <= width) return text;
    let least = 0, most = text.length;
    const cut = (n) => text.slice(0, Math.ceil(n * 0.4)) + "\u2026" + text.slice(text.length - Math.floor(n * 0.6));
    while (least < most) {
        const n = Math.ceil((least + most) / 2);
        if (textWidth(cut(n), font) <= width) least = n;
        else most = n - 1;
    }
    return cut(least);
}

/* The kind of an operator, then its name. shows: "cycles" or "error", what the bar and the number of a node are about. */
function nodeTexts(node, shows) {
    const kind = placementOf(node), name = shorter(String(node.label), node.group), what = operatorText(node.operator);
    const label = kind === "io" || what === name ? name : what + "  " + name;
    if (kind === "io") return { label, detail: node.operator + "  " + sizesText(node.sizes) };
    if (kind === "folded") return { label, detail: "" };
    const number = shows === "error" ? (decibelValue(node.sqnr_db) === null ? "" : decibelText(node.sqnr_db)) : node.cycles ? shortCount(node.cycles) : "";
    return { label, detail: PLACEMENTS[kind].text + (number ? "  \u00b7  " + number : "") };
}

function groupTexts(group, shows) {
    const worst = shows === "error" ? worstOf(group) : null;
    const number = worst ? "from " + decibelText(worst.sqnr_db) : shows === "error" ? "" : shortCount(group.cycles) + " cycles";
    return { label: group.title, detail: plural(group.operators, "operator") + (number ? "  \u00b7  " + number : "") };
}

function worstOf(group) {
    return group.nodes.reduce((worst, node) => errorOf(node) > (worst ? errorOf(worst) : 0) ? node : worst, null);
}

/* The size of what stands for an item of the tree, or for the title of an open module. */
function measureItem(item, shows) {
    if (item.title) return { width: Math.min(320, textWidth(item.title.title, LABEL_FONT) + 64), height: 0 };
    const texts = item.group ? groupTexts(item.group, shows) : nodeTexts(item.node, shows);
    const kind = item.group ? "group" : placementOf(item.node);
    const width = Math.max(textWidth(texts.label, kind === "folded" ? DETAIL_FONT : LABEL_FONT), textWidth(texts.detail, DETAIL_FONT));
    return {
        width: Math.round(Math.max(kind === "folded" ? 60 : 104, Math.min(LABEL_WIDTH, width) + (item.group ? 54 : 30))),
        height: item.group ? GROUP_HEIGHT : kind === "folded" ? FOLDED_HEIGHT : NODE_HEIGHT,
    };
}

/* Patterns tell placements apart where colours do not: on paper, and to eyes that see few of them. */
function graphDefinitions() {
    const lines = (id, paths) => svg("pattern", { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        paths.map((d) => svg("path", { d, class: "pattern-line" })));
    return svg("defs", {},
        lines("pattern-cpu", ["M0 0V7"]), lines("pattern-cpu_float", ["M0 0V7", "M0 0H7"]),
        svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" },
            svg("path", { d: "M0 0.5L8 4L0 7.5Z", class: "arrow" })));
}

/* The window onto a graph. `describe(item)` is what a screen reader says of one. */
function createGraphView(report, root, describe) {
    const stage = svg("g", { class: "stage" });
    const parts = ["boxes", "pieces", "items"].map((name) => svg("g", { class: name }));
    stage.append(...parts);
    const surface = svg("svg", {
        class: "graph-surface", tabindex: 0, role: "application", "aria-roledescription": "graph of operators",
        "aria-label": "Graph of operators. Arrow keys follow the data, Enter opens a module, F fits all into the window.",
        "aria-describedby": "graph-keys",
    }, graphDefinitions(), stage);
    const view = {
        report, root, surface, open: new Set(), layout: null, byKey: new Map(), x: 0, y: 0, scale: 1,
        selected: null, found: new Set(), shows: "cycles", drawn: new Map(), whole: false, zoom: 1, moved: () => {},
    };
    let waiting = false;
    view.draw = () => {
        if (waiting) return;
        waiting = true;
        requestAnimationFrame(() => {
            waiting = false;
            drawNow(view, stage, parts, describe);
        });
    };
    view.drawNow = () => drawNow(view, stage, parts, describe);
    view.size = () => {
        const box = surface.getBoundingClientRect();
        return { width: Math.max(50, box.width), height: Math.max(50, box.height) };
    };
    return view;
}

/* Lays the graph out again after modules opened or closed. What `anchor` names keeps its place in the window. */
function relayout(view, anchor) {
    const before = anchor && view.byKey.get(anchor);
    const size = view.size();
    view.layout = layoutGraph(view.report, view.root, view.open, (item) => measureItem(item, view.shows), Math.max(0.6, Math.min(2, size.width / size.height)));
    view.byKey = new Map(view.layout.items.map((item) => [item.key, item]));
    const after = anchor && view.byKey.get(anchor);
    if (before && after) {
        view.x += (before.x + before.width / 2 - after.x - after.width / 2) * view.scale;
        view.y += (before.y - after.y) * view.scale;
    }
    forget(view);
}

function forget(view) {
    for (const [, drawn] of view.drawn) drawn.remove();
    view.drawn.clear();
}

function setScale(view, scale, atX, atY) {
    const limited = Math.max(LEAST_SCALE, Math.min(GREATEST_SCALE, scale));
    view.x = atX - ((atX - view.x) * limited) / view.scale;
    view.y = atY - ((atY - view.y) * limited) / view.scale;
    view.scale = limited;
    view.draw();
}

/* All of it; at first only where that can be read, else its beginning in a size that can. */
function fit(view, all) {
    const size = view.size(), margin = 18;
    const scale = Math.min((size.width - 2 * margin) / view.layout.width, (size.height - 2 * margin) / view.layout.height, 1.15);
    view.scale = Math.max(LEAST_SCALE, all || scale >= 1 ? scale : 1);
    const width = view.layout.width * view.scale, height = view.layout.height * view.scale;
    view.x = width <= size.width ? (size.width - width) / 2 : margin;
    view.y = height <= size.height ? (size.height - height) / 2 : margin;
    view.draw();
}

/* Brings an item into the window when it is not, by the shortest way, or into its middle. */
function bringIntoView(view, key, middle) {
    const item = view.byKey.get(key);
    if (!item) return;
    const size = view.size(), margin = 40;
    if (view.scale < FAR && middle) view.scale = 1;
    const height = item.open ? Math.min(item.height, size.height / view.scale - 2 * margin) : item.height;
    const left = view.x + item.x * view.scale, top = view.y + item.y * view.scale;
    const right = left + item.width * view.scale, bottom = top + height * view.scale;
    const inside = left >= 0 && top >= 0 && right <= size.width && bottom <= size.height;
    if (middle && !inside) {
        glide(view, size.width / 2 - (item.x + item.width / 2) * view.scale, size.height / 2 - (item.y + height / 2) * view.scale);
        return;
    }
    let { x, y } = view;
    if (left < margin) x += margin - left;
    else if (right > size.width - margin) x -= right - size.width + margin;
    if (top < margin) y += margin - top;
    else if (bottom > size.height - margin) y -= bottom - size.height + margin;
    glide(view, x, y);
}

/* A short movement tells where the window went; who asked for none gets none. */
function glide(view, x, y) {
    const x0 = view.x, y0 = view.y, start = performance.now();
    view.gliding = start;
    if (reducedMotion()) {
        Object.assign(view, { x, y });
        view.draw();
        return;
    }
    function step(now) {
        if (view.gliding !== start) return;
        const t = Math.max(0, Math.min(1, (now - start) / 180)), eased = t * (2 - t);
        view.x = x0 + (x - x0) * eased;
        view.y = y0 + (y - y0) * eased;
        view.drawNow();
        if (t < 1) requestAnimationFrame(step);
    }
    requestAnimationFrame(step);
}

/* ---- drawing ---- */

function drawNow(view, stage, parts, describe) {
    if (!view.layout) return;
    const size = view.size(), margin = 120;
    stage.setAttribute("transform", view.whole ? "" : "translate(" + view.x.toFixed(2) + " " + view.y.toFixed(2) + ") scale(" + view.scale.toFixed(4) + ")");
    const far = !view.whole && view.scale < FAR;
    const zoom = textZoom(view);
    if (far !== view.far || zoom !== view.zoom) {
        view.far = far;
        view.zoom = zoom;
        view.surface.classList.toggle("far", far);
        forget(view);
    }
    const left = (-margin - view.x) / view.scale, right = (size.width + margin - view.x) / view.scale;
    const top = (-margin - view.y) / view.scale, bottom = (size.height + margin - view.y) / view.scale;
    const inWindow = (box) => view.whole || (box.x <= right && box.x + box.width >= left && box.y <= bottom && box.y + box.height >= top);
    const wanted = new Set();
    for (const item of view.layout.items) {
        if (!inWindow(item) && item.key !== view.selected) continue;
        wanted.add(item.key);
        if (!view.drawn.has(item.key)) {
            const drawn = far ? drawFar(item, describe) : item.open ? drawOpenGroup(view, item, describe) : item.group ? drawGroup(view, item, describe) : drawNode(view, item, describe);
            view.drawn.set(item.key, drawn);
            parts[item.open ? 0 : 2].append(drawn);
        }
        mark(view, item.key);
    }
    for (const piece of view.layout.pieces) {
        const key = "p:" + piece.key;
        if (!inWindow(piece)) continue;
        wanted.add(key);
        if (!view.drawn.has(key)) {
            view.drawn.set(key, svg("path", { d: piece.path, class: "edge" + (piece.crosses ? " crosses" : ""), "marker-end": piece.ends ? "url(#arrow)" : null }));
            parts[1].append(view.drawn.get(key));
        }
        view.drawn.get(key).classList.toggle("of-selected", view.selected !== null && (piece.source === view.selected || piece.targets.has(view.selected)));
    }
    for (const [key, drawn] of view.drawn) {
        if (wanted.has(key)) continue;
        drawn.remove();
        view.drawn.delete(key);
    }
    if (view.selected && view.drawn.has(view.selected)) view.surface.setAttribute("aria-activedescendant", idOf(view.selected));
    else view.surface.removeAttribute("aria-activedescendant");
    view.moved();
}

function mark(view, key) {
    const drawn = view.drawn.get(key);
    drawn.classList.toggle("selected", key === view.selected);
    drawn.classList.toggle("found", view.found.has(key));
}

/* Identifiers of the document hold no text of the model. */
const idOf = (() => {
    const ids = new Map();
    return (key) => {
        if (!ids.has(key)) ids.set(key, "item-" + ids.size);
        return ids.get(key);
    };
})();

function frame(item, kind, extra, describe) {
    return svg("g", {
        id: idOf(item.key), class: "item " + kind, "data-key": item.key, role: "img", "aria-label": describe(item),
        transform: "translate(" + item.x.toFixed(1) + " " + item.y.toFixed(1) + ")",
    }, svg("title", {}, describe(item)), extra);
}

/* From afar a block of colour: thousands of them are drawn in a moment. */
function drawFar(item, describe) {
    const kind = item.group ? (item.open ? "group open" : "group") : placementOf(item.node);
    return frame(item, kind, svg("rect", { class: "shape", width: item.width, height: item.height, rx: kind === "npu" ? 7 : kind === "io" ? 20 : 0 }), describe);
}

/* Two lines; a single one, as large as both, where text has grown beyond them. */
function itemText(view, texts, x, y, width, wide) {
    const zoom = view.zoom, one = zoom > 1.2;
    return [
        svg("text", { class: "label", x, y: one ? y + 7 + 4 * (zoom - 1) : y, "font-size": 12 * zoom }, fitted(texts.label, labelFont(zoom), wide)),
        one ? null : svg("text", { class: "detail", x, y: y + 14, "font-size": LEAST_TEXT * zoom }, fitted(texts.detail, detailFont(zoom), width)),
    ];
}

function drawNode(view, item, describe) {
    const { node, width, height } = item, kind = placementOf(node), texts = nodeTexts(node, view.shows), zoom = view.zoom;
    if (kind === "folded") {
        return frame(item, kind, [
            svg("rect", { class: "shape", width, height, rx: 4 }),
            svg("text", { class: "folded-label", x: width / 2, y: 11 + 4 * zoom, "text-anchor": "middle", "font-size": LEAST_TEXT * zoom }, fitted(texts.label, detailFont(zoom), width - 12)),
        ], describe);
    }
    const radius = kind === "io" ? height / 2 : kind === "npu" ? 7 : 0, indent = kind === "io" ? 20 : 15;
    const read = (view.report.consumers.get(node.id) || []).length > 0, error = view.shows === "error";
    const share = error ? errorOf(node) / (view.report.worstError || 1) : (node.cycles || 0) / (view.report.maxCycles || 1);
    return frame(item, kind, [
        svg("rect", { class: "shape", width, height, rx: radius }),
        kind === "io" ? null : svg("path", { class: "stripe", d: stripePath(kind, height) }),
        kind === "cpu" || kind === "cpu_float" ? svg("path", { fill: "url(#pattern-" + kind + ")", d: stripePath(kind, height) }) : null,
        itemText(view, texts, indent, 17, width - indent - 8, width - indent - 8),
        share > 0 ? svg("rect", { class: error ? "load error" : "load", x: indent, y: height - 5.5, width: Math.max(1.5, share * (width - indent - 8)), height: 2.5, rx: 1 }) : null,
        read && zoom <= 1.2 ? svg("text", { class: "sizes", x: width / 2 + 6, y: height + 13, "font-size": LEAST_TEXT * zoom }, sizesText(node.sizes)) : null,
    ], describe);
}

/* The band at the left: round with the NPU's node, straight and wider, with its pattern, on the CPU. */
function stripePath(kind, height) {
    if (kind === "npu") return "M7 0H6A6 6 0 0 0 0 7V" + (height - 7) + "A6 6 0 0 0 6 " + height + "H7Z";
    return "M0 0H9V" + height + "H0Z";
}

function drawGroup(view, item, describe) {
    const { group, width, height } = item, texts = groupTexts(group, view.shows), worst = worstOf(group);
    return frame(item, "group", [
        svg("rect", { class: "behind", x: 4, y: 4, width: width - 2, height: height - 1, rx: 8 }),
        svg("rect", { class: "shape", width, height, rx: 8 }),
        itemText(view, texts, 12, 18, width - 20, width - 44),
        view.shows !== "error" ? placementBar(group, 12, height - 9, (width - 24) * loadOf(group))
            : worst ? svg("rect", { class: "load error", x: 12, y: height - 9, width: Math.max(1.5, ((width - 24) * errorOf(worst)) / view.report.worstError), height: 4 }) : null,
        toggleSign(width - 17, 15, true),
    ], describe);
}

/* Cycles of a module against those of the largest one beside it. */
function loadOf(group) {
    const most = group.parent.items.reduce((value, item) => Math.max(value, (item.group || item.node).cycles || 0), 0);
    return most ? Math.max(0.02, group.cycles / most) : 1;
}

/* Cycles by placement as one bar; operators, where nothing takes cycles. */
function placementBar(group, x, y, width) {
    const sums = { npu: 0, cpu: 0, cpu_float: 0, folded: 0 }, bars = [];
    for (const node of group.nodes) {
        const kind = placementOf(node);
        if (kind in sums) sums[kind] += group.cycles ? node.cycles || 0 : 1;
    }
    const total = sums.npu + sums.cpu + sums.cpu_float + sums.folded || 1;
    for (const kind of Object.keys(sums)) {
        const length = (sums[kind] / total) * width;
        if (!length) continue;
        bars.push(svg("rect", { class: "part " + kind, x, y, width: length, height: 4 }));
        if (kind === "cpu" || kind === "cpu_float") bars.push(svg("rect", { x, y, width: length, height: 4, fill: "url(#pattern-" + kind + ")" }));
        x += length;
    }
    return bars;
}

function toggleSign(x, y, plus) {
    return svg("g", { class: "toggle", "data-toggle": "true", transform: "translate(" + x + " " + y + ")" },
        svg("circle", { r: 8.5 }), svg("path", { d: plus ? "M-4 0H4M0 -4V4" : "M-4 0H4" }));
}

function drawOpenGroup(view, item, describe) {
    const { group, width, height } = item;
    return frame(item, "group open", [
        svg("rect", { class: "shape", width, height, rx: 10 }),
        svg("text", { class: "label", x: 12, y: 15 + 4 * view.zoom, "font-size": 12 * view.zoom }, fitted(group.title, labelFont(view.zoom), width - 48)),
        toggleSign(width - 18, 15, false),
    ], describe);
}

const LEGEND = { npu: "NPU", cpu: "CPU, int8", cpu_float: "CPU, float", folded: "folded into others", io: "input, output" };

function graphLegend(kinds, errors) {
    const sample = (kind) => svg("svg", { class: "sample " + kind, width: 30, height: 18, "aria-hidden": "true" },
        svg("g", { class: "item " + kind, transform: "translate(1 1)" },
            svg("rect", { class: "shape", width: 28, height: 16, rx: kind === "npu" ? 4 : kind === "io" ? 8 : kind === "folded" ? 3 : 0 }),
            kind === "io" || kind === "folded" ? null : svg("path", { class: "stripe", d: kind === "npu" ? "M6 0H4A4 4 0 0 0 0 4V12A4 4 0 0 0 4 16H6Z" : "M0 0H8V16H0Z" }),
            kind === "cpu" || kind === "cpu_float" ? svg("path", { d: "M0 0H8V16H0Z", fill: "url(#pattern-" + kind + ")" }) : null));
    return element("ul", { class: "legend", "aria-label": "Legend" }, kinds.map((kind) => element("li", {}, sample(kind), LEGEND[kind])),
        element("li", {}, svg("svg", { class: "sample npu", width: 30, height: 18, "aria-hidden": "true" }, svg("g", { class: "item npu" }, svg("rect", { class: "load", x: 2, y: 8, width: 26, height: 3, rx: 1 }))), (errors ? "cycles or error" : "cycles") + ", against the largest"));
}

"use strict";
/* What changed since an older report. A measure that is `of` another one is the same quantity again, or a part of it. */

const MEASURES = [
    { key: "latency_us", title: "Latency", text: durationText, less: true },
    { key: "cycles", title: "Cycles", text: countText, less: true, of: "latency_us" },
    { key: "on_npu", title: "Operators on the NPU", text: countText, less: false, change: (a, b) => signedCount(b - a) },
    { key: "on_cpu", title: "Operators on the CPU", text: countText, less: true, of: "on_npu", change: (a, b) => signedCount(b - a) },
    { key: "partitions", title: "Partitions", text: countText, less: true, change: (a, b) => signedCount(b - a) },
    { key: "memory_bytes", title: "Memory", text: sizeText, less: true },
    { key: "arena_bytes", title: "Arena", text: sizeText, less: true, of: "memory_bytes" },
    { key: "scratch_bytes", title: "NPU scratch", text: sizeText, less: true, of: "memory_bytes" },
    { key: "program_bytes", title: "Program", text: sizeText, less: true },
    { key: "sqnr_db", title: "SQNR", text: decibelText, less: false, value: decibelValue, change: (a, b) => signed(b - a, 1) + "\u00a0dB" },
    { key: "accuracy", title: "Accuracy", text: (value) => percentText(value, 2), less: false, change: (a, b) => signed(100 * (b - a), 2) + "\u00a0points" },
    { key: "agreement", title: "Agreement with float", text: (value) => percentText(value, 2), less: false, change: (a, b) => signed(100 * (b - a), 2) + "\u00a0points" },
];

function signed(value, digits) {
    return (value > 0 ? "+" : value < 0 ? "\u2212" : "") + Math.abs(value).toFixed(digits);
}

function compareSection(report) {
    const compare = report.data.compare;
    if (!compare) return null;
    const old = (compare.old && compare.old.summary) || {};
    const changes = MEASURES.map((measure) => changeOf(measure, old, report.summary)).filter(Boolean);
    for (const change of changes) change.again = changes.some((other) => other.key === change.of);
    const counted = changes.filter((change) => !change.again);
    const better = counted.filter((change) => change.sign > 0).length, worse = counted.filter((change) => change.sign < 0).length;
    return section("compare", "Compared with the older report",
        better || worse ? (better ? plural(better, "measure is", "measures are") : "No measure is") + " better, " + (worse ? plural(worse, "is", "are") : "none is") + " worse." : "No measure changed.",
        whatDiffers(report.data),
        element("div", { class: "table-block table-scroll" }, element("table", {}, element("caption", { class: "hidden" }, "Measures before and after"),
            element("thead", {}, element("tr", {}, ["Measure", "Before", "Now", "Change"].map((title, i) => element("th", { scope: "col", class: i ? "numeric" : null }, title)))),
            element("tbody", {}, changes.map((change) => element("tr", {}, element("th", { scope: "row" }, change.title), element("td", { class: "numeric" }, change.before),
                element("td", { class: "numeric" }, change.now), element("td", { class: "numeric" }, changeMark(change))))))),
        changedNodes(report, "Moved", list(compare.moved), (row) => [placeText(row.from), "\u2192", placeText(row.to)].join(" ")),
        changedNodes(report, "Faster", list(compare.faster), (row) => cyclesChange(row)),
        changedNodes(report, "Slower", list(compare.slower), (row) => cyclesChange(row)),
        changedNodes(report, "More exact", list(compare.better), (row) => decibelText(row.old_db) + " \u2192 " + decibelText(row.new_db)),
        changedNodes(report, "Less exact", list(compare.worse), (row) => decibelText(row.old_db) + " \u2192 " + decibelText(row.new_db)),
        changedNodes(report, "New", list(compare.added).map((label) => ({ label })), () => ""),
        changedNodes(report, "Gone", list(compare.removed).map((label) => ({ label })), () => ""),
        compare.old && compare.old.invocation ? [element("h3", {}, "The older command"), element("pre", { class: "command", tabindex: 0 }, compare.old.invocation)] : null);
}

/* Options of a command, each with its value. */
function optionsOf(invocation) {
    const options = new Map(), words = String(invocation || "").split(/\s+/);
    words.forEach((word, i) => {
        if (!word.startsWith("--") || ["--compare", "--json", "--target"].includes(word.split("=")[0])) return;
        const value = words[i + 1];
        options.set(word, value !== undefined && !value.startsWith("-") ? " " + fileName(value) : "");
    });
    return options;
}

/* Target, model and options that are not those of the older report: what its measures differ by. */
function whatDiffers(data) {
    const old = data.compare.old || {}, rows = [], say = (value) => value === undefined || value === null ? DASH : String(value);
    const row = (title, before, now) => { if (before !== now) rows.push([title, say(before), say(now)]); };
    if (old.target) row("Target", old.target, data.target && data.target.name);
    if (old.model) row("Model", fileName(old.model), fileName(data.model && data.model.file));
    row("nucleon", old.nucleon, data.nucleon);
    const before = optionsOf(old.invocation), now = optionsOf(data.invocation);
    for (const name of new Set([...before.keys(), ...now.keys()])) row(name, before.has(name) ? name + before.get(name) : undefined, now.has(name) ? name + now.get(name) : undefined);
    if (!rows.length) return element("p", { class: "quiet" }, "Target, model and options are the same.");
    return element("div", { class: "table-block" }, element("div", { class: "table-scroll" }, element("table", {}, element("caption", { class: "hidden" }, "What differs"),
        element("thead", {}, element("tr", {}, ["What differs", "Before", "Now"].map((title) => element("th", { scope: "col" }, title)))),
        element("tbody", {}, rows.map(([title, was, is]) => element("tr", {}, element("th", { scope: "row" }, title), element("td", {}, was), element("td", {}, is)))))));
}

function changeOf(measure, old, now) {
    const value = measure.value || ((x) => isNumber(x) ? x : null);
    const before = value(old[measure.key]), after = value(now[measure.key]);
    if (before === null || after === null) return null;
    const sign = before === after ? 0 : (after < before) === measure.less ? 1 : -1;
    const finite = Number.isFinite(before) && Number.isFinite(after);
    const text = !finite || before === after ? "" : measure.change ? measure.change(before, after)
        : before && Math.abs(after / before - 1) >= 0.0005 ? signedPercent(after / before - 1) : signedCount(after - before);
    return { key: measure.key, of: measure.of, title: measure.title, before: measure.text(old[measure.key]), now: measure.text(now[measure.key]), sign, text };
}

/* The word beside the number: a sign alone does not say whether more is good. */
function changeMark(change) {
    if (!change.sign) return element("span", { class: "quiet" }, "same");
    if (change.again) return element("span", { class: "quiet" }, change.text);
    return element("span", { class: change.sign > 0 ? "better" : "worse" }, change.text + " " + (change.sign > 0 ? "better" : "worse"));
}

function placeText(where) {
    return PLACEMENTS[where] ? PLACEMENTS[where].text : String(where);
}

function cyclesChange(row) {
    return countText(row.old_cycles) + " \u2192 " + countText(row.new_cycles) + " cycles";
}

function changedNodes(report, title, rows, text) {
    if (!rows.length) return null;
    const byLabel = new Map(report.nodes.map((node) => [node.label, node]));
    return element("details", { open: rows.length <= 12 }, element("summary", {}, title + ": " + plural(rows.length, "operator")),
        element("ul", { class: "changes" }, rows.map((row) => element("li", {}, byLabel.has(row.label) ? nodeLink(report, byLabel.get(row.label)) : element("span", {}, String(row.label)), element("span", { class: "quiet" }, text(row))))));
}

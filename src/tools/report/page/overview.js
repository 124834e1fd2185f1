"use strict";
/* The head of the page: the model, one sentence about it, the numbers that matter most. */

function overview(report) {
    const { summary, model, target } = report;
    return element("header", { class: "overview" },
        element("p", { class: "product" }, element("strong", {}, "nucleon"), " report", themeSwitch()),
        element("h1", {}, fileName(model.file)),
        element("p", { class: "target" }, [target.name, target.description, target.converter_flavor ? "rules of " + target.converter_flavor : null].filter(Boolean).map(String).join("  \u00b7  ")),
        element("p", { class: "verdict" }, verdict(report)),
        cyclesBar(report),
        element("dl", { class: "tiles" }, tiles(summary, target).map(([name, parts, detail]) => element("div", { class: "tile" },
            element("dt", {}, name), element("dd", {}, element("span", { class: "value" }, parts[0], parts[1] ? element("span", { class: "unit" }, parts[1]) : null),
                element("span", { class: "under" }, detail || "\u00a0"))))),
        summary.missed ? element("p", { class: "missed", role: "note" }, element("strong", {}, "Demanded and not met: "), withoutFolders(summary.missed)) : null,
        (report.obstacles || []).length ? element("div", { class: "warnings", role: "note" }, element("h2", {}, "The model is refused"),
            element("ul", {}, report.obstacles.map((obstacle) => element("li", {}, withoutFolders(obstacle.text)))),
            element("p", {}, "This page is about the rest: what is left out has its results as inputs and its operands as outputs of the model.")) : null,
        report.warnings.length ? element("div", { class: "warnings", role: "note" }, element("h2", {}, report.warnings.length === 1 ? "Note" : "Notes"),
            element("ul", {}, report.warnings.map((warning) => element("li", {}, withoutFolders(warning))))) : null);
}

function fileName(file) {
    return String(file || "model").replace(/^.*[/\\]/, "");
}

function verdict(report) {
    const { operators, on_npu: onNpu, on_cpu: onCpu, partitions } = report.summary;
    if (!isNumber(operators)) return "";
    if (!onNpu) return "All " + plural(operators, "operator") + " run on the CPU.";
    const parts = isNumber(partitions) ? ", in " + plural(partitions, "partition") : "";
    if (!onCpu) return "All " + plural(operators, "operator") + " run on the NPU" + parts + "." + onTheWay(report.summary);
    const cause = report.onCpu.slice().sort((a, b) => (b.lost_cycles || 0) - (a.lost_cycles || 0))[0], node = cause && findNode(report, cause.node);
    return [countText(onNpu) + " of " + plural(operators, "operator") + " run on the NPU" + parts + "; " + (onCpu === 1 ? "1 stays" : countText(onCpu) + " stay") + " on the CPU. ",
        node && cause.lost_cycles ? [nodeLink(report, node), " loses most there, about " + countText(cause.lost_cycles) + " cycles" + (cause.fix ? ": " : "."), cause.fix ? element("strong", {}, cause.fix.text + ".") : null] : null];
}

/* Why the CPU has cycles although it has no operator. */
function onTheWay({ cycles, cpu_cycles: cpu }) {
    return cpu && cycles ? " The CPU's " + percentText(cpu / cycles) + " of the cycles convert and copy values on their way in and out." : "";
}

/* Notes name files by where they lie, which is nobody else's business. */
function withoutFolders(text) {
    return String(text).replace(/(^|[\s'"(=])(?:[A-Za-z]:)?\/(?:[^\s'":]+\/)*([^\s'":\/]+)/g, "$1$2");
}

/* Cycles by where they are spent, as one bar with its shares in words. */
function cyclesBar(report) {
    const { npu_cycles: npu, cpu_cycles: cpu, cpu_float: inFloat, on_cpu: onCpu } = report.summary, total = (npu || 0) + (cpu || 0);
    if (!total) return null;
    const kind = inFloat && inFloat === onCpu ? "cpu_float" : "cpu";
    const share = (name, value, text) => value ? styled(element("div", { class: "part " + name }), { "flex-grow": String(value) }) : null;
    const words = (name, value, text) => value ? element("span", {}, badge(name, text), " " + percentText(value / total) + " of the cycles") : null;
    return element("div", { class: "cycles-bar" }, element("div", { class: "stack", "aria-hidden": "true" }, share("npu", npu), share(kind, cpu)),
        element("p", { class: "shares" }, words("npu", npu, "NPU"), words(kind, cpu, "CPU")));
}

/* On samples that were held out, how low it is on the worst part of them; on the best, where the figure is the worst. */
function sqnrNote(summary) {
    if (!summary.sqnr_held_out) return "error " + percentText(relativeError(summary.sqnr_db), 2);
    const low = summary.sqnr_db - summary.sqnr_lowest_db > 3 ? decibelText(summary.sqnr_lowest_db) + " and more " : "";
    const wide = summary.sqnr_highest_db > summary.sqnr_db && summary.sqnr_db === summary.sqnr_lowest_db;
    return (wide ? "to " + decibelText(summary.sqnr_highest_db) + " " : low) + "on " + plural(summary.sqnr_held_out, "held-out sample");
}

function tiles(summary, target) {
    const clock = isNumber(target.clock_hz) ? " at " + trimmed(target.clock_hz / 1e6).replace(/\.0+$/, "") + "\u00a0MHz" : "";
    const memory = isNumber(summary.memory_bytes) ? summary.memory_bytes : isNumber(summary.arena_bytes) ? summary.arena_bytes + (summary.scratch_bytes || 0) : null;
    const rows = [
        ["Latency, estimated", durationParts(summary.latency_us), isNumber(summary.cycles) ? countText(summary.cycles) + " cycles" + clock : null],
        ["Memory", sizeParts(memory), isNumber(summary.arena_bytes) ? "arena " + countText(summary.arena_bytes) + (summary.scratch_bytes ? ", NPU " + countText(summary.scratch_bytes) : "") : null],
        ["Program", sizeParts(summary.program_bytes), isNumber(summary.weights_bytes) ? "weights " + sizeText(summary.weights_bytes) : null],
        ["SQNR", decibelParts(summary.sqnr_db), sqnrNote(summary)],
    ];
    if (isNumber(summary.accuracy)) {
        rows.push(["Accuracy", [(100 * summary.accuracy).toFixed(2), "%"], isNumber(summary.reference_accuracy) ? "float " + percentText(summary.reference_accuracy, 2) : isNumber(summary.samples) ? plural(summary.samples, "sample") : null]);
    }
    if (isNumber(summary.agreement)) rows.push(["Agreement with float", [(100 * summary.agreement).toFixed(2), "%"], isNumber(summary.samples) ? plural(summary.samples, "sample") : null]);
    if (isNumber(summary.macs) && summary.macs && rows.length < 6) rows.push(["Work", [shortCount(summary.macs), "MACs"], isNumber(summary.cycles) && summary.cycles ? trimmed(summary.macs / summary.cycles) + " per cycle" : null]);
    return rows.filter((row) => row[1][0] !== DASH);
}

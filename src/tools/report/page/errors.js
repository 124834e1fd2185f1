"use strict";
/* The error of quantization after each operator, the one that costs the outputs most first. */

const LOW_DECIBELS = 20; /* below, an error is more than a tenth of the signal */

function errorsSection(report) {
    const nodes = report.nodes.filter((node) => decibelValue(node.sqnr_db) !== null && placementOf(node) !== "folded");
    if (!nodes.length) return null;
    const own = nodes.some((node) => decibelValue(node.sqnr_own_db) !== null);
    const low = nodes.filter((node) => decibelValue(node.sqnr_db) < LOW_DECIBELS).length;
    const columns = [
        { title: "After", cell: (node) => nodeLink(report, node), value: (node) => String(node.label), wide: true },
        { title: "Kind", cell: (node) => operatorText(node.operator), value: (node) => operatorText(node.operator), minor: true },
        { title: "SQNR", cell: (node) => decibelText(node.sqnr_db), value: (node) => decibelValue(node.sqnr_db), numeric: true },
        { title: "Error", cell: (node) => element("div", { class: "share" }, element("span", {}, percentText(relativeError(node.sqnr_db), 2)), bar(report.worstError ? errorOf(node) / report.worstError : 0, decibelValue(node.sqnr_db) < LOW_DECIBELS ? "low" : "error")),
            value: (node) => relativeError(node.sqnr_db), numeric: true, wide: true },
    ];
    const ranked = nodes.some((node) => decibelValue(node.sqnr_output_db) !== null);
    if (ranked) columns.push({ title: "Outputs", cell: (node) => decibelText(node.sqnr_output_db), value: (node) => relativeError(node.sqnr_output_db), numeric: true });
    if (own) columns.splice(3, 0, { title: "Its own", cell: (node) => decibelText(node.sqnr_own_db), value: (node) => decibelValue(node.sqnr_own_db), numeric: true, minor: true });
    return section("errors", "Error by operator", "Error of the quantized values against float ones, as a share of the signal" + (own ? "; \u201cits own\u201d is what the operator adds when it reads exact values" : "")
        + (ranked ? "; \u201coutputs\u201d is their SQNR if that were the only error: the lowest costs most" : "")
        + (report.summary.node_samples ? "; on " + plural(report.summary.node_samples, "calibration sample") : "") + ". " + (low ? plural(low, "operator is", "operators are") + " below " + LOW_DECIBELS + " dB." : "None is below " + LOW_DECIBELS + " dB."),
        sortableTable("Error by operator", columns, nodes, (own ? 5 : 4) - (ranked ? 0 : 1)));
}

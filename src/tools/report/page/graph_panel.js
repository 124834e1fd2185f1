"use strict";
/* All that is known of the selected operator or module, beside the graph. */

function badge(kind, text) {
    return element("span", { class: "badge " + kind }, text || PLACEMENTS[kind].text);
}

/* The name of a node as a way to it in the graph. */
function nodeLink(report, node, text) {
    if (!node) return element("span", {}, text || DASH);
    return element("button", { type: "button", class: "link", title: "Show " + node.label + " in the graph", click: () => report.reveal(node.id) }, text || String(node.label));
}

function facts(rows) {
    return element("dl", { class: "facts" }, rows.filter((row) => row && row[1] !== null && row[1] !== undefined && row[1] !== "")
        .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function links(report, nodes) {
    const shown = nodes.slice(0, 12);
    if (!nodes.length) return null;
    return element("ul", { class: "plain" }, shown.map((node) => element("li", {}, nodeLink(report, node), " ", element("small", {}, sizesText(node.sizes)))),
        nodes.length > shown.length ? element("li", {}, "and " + plural(nodes.length - shown.length, "other")) : null);
}

function nodeDetails(report, node) {
    const kind = placementOf(node), share = report.cycles ? (node.cycles || 0) / report.cycles : null;
    const kernels = report.kernels.get(node.id) || [], because = findNode(report, node.because);
    const stays = node.reason || node.rule;
    return [
        element("h3", {}, String(node.label)),
        element("p", { class: "badges" }, badge(kind), kind === "npu" && node.partition !== null ? element("span", { class: "quiet" }, "partition " + partitionText(report, node.partition)) : null),
        stays ? element("div", { class: "reason" },
            element("h4", {}, "Why it stays on the CPU"),
            because ? element("p", {}, "It goes with ", nodeLink(report, because), ".") : null,
            facts([["Why", node.reason || node.rule], ["Fix", node.fix ? element("strong", {}, node.fix.text) : null],
                ["Gain", node.gain_cycles ? "about " + countText(node.gain_cycles) + " cycles" : null]])) : null,
        facts([
            ["Operator", node.operator], ["Module", node.module], ["Source", node.file ? node.file + (node.line ? ":" + node.line : "") : null],
            ["In the graph", node.name], ["Result", [node.dtype, sizesText(node.sizes)].filter(Boolean).join("  ")],
            isNumber(node.scale) ? ["Scale", plainNumber(node.scale) + (isNumber(node.zero_point) ? ", zero point " + node.zero_point : "")] : null,
            node.macs ? ["MACs", countText(node.macs)] : null,
            kind === "io" || kind === "folded" ? null : ["Cycles", node.cycles ? countText(node.cycles) + (share ? "  (" + percentText(share) + ")" : "") : "0, part of another kernel"],
            node.npu_cycles && kind !== "npu" ? ["On the NPU", countText(node.npu_cycles) + " cycles"] : null,
            node.cpu_cycles && kind === "npu" ? ["On the CPU", countText(node.cpu_cycles) + " cycles"] : null,
            decibelValue(node.sqnr_db) !== null ? ["SQNR here", decibelText(node.sqnr_db)] : null,
            decibelValue(node.sqnr_own_db) !== null ? ["Of its own", decibelText(node.sqnr_own_db)] : null,
        ]),
        kernels.length ? [element("h4", {}, kernels.length === 1 ? "NPU kernel" : "NPU kernels"),
            element("ul", { class: "plain" }, kernels.slice(0, 12).map((entry) => element("li", {}, entry.kernel.kernel + " ", element("small", {}, countText(entry.kernel.cycles) + " cycles, no. " + entry.position + " of " + partitionText(report, entry.index)))))] : null,
        inputsOf(report, node).length ? [element("h4", {}, "Reads"), links(report, inputsOf(report, node))] : null,
        (report.consumers.get(node.id) || []).length ? [element("h4", {}, "Read by"), links(report, report.consumers.get(node.id))] : null,
    ];
}

function groupDetails(report, group, open, toggle) {
    const counts = {};
    for (const node of group.nodes) counts[placementOf(node)] = (counts[placementOf(node)] || 0) + 1;
    const slowest = group.nodes.filter((node) => node.cycles).sort((a, b) => b.cycles - a.cycles).slice(0, 6);
    const worst = group.nodes.filter((node) => isNumber(node.sqnr_db)).sort((a, b) => a.sqnr_db - b.sqnr_db)[0];
    return [
        element("h3", {}, group.title),
        element("p", { class: "badges" }, Object.keys(PLACEMENTS).filter((kind) => counts[kind] && kind !== "io")
            .map((kind) => badge(kind, countText(counts[kind]) + " " + PLACEMENTS[kind].text))),
        element("p", {}, element("button", { type: "button", class: "button", click: toggle }, open ? "Close the module" : "Open the module")),
        facts([["Module", group.path], ["Operators", countText(group.operators)],
            ["Cycles", countText(group.cycles) + (report.cycles ? "  (" + percentText(group.cycles / report.cycles) + ")" : "")],
            worst ? ["Lowest SQNR", [decibelText(worst.sqnr_db), " at ", nodeLink(report, worst)]] : null]),
        slowest.length ? [element("h4", {}, "Most cycles"), element("ul", { class: "plain" },
            slowest.map((node) => element("li", {}, nodeLink(report, node, shorter(String(node.label), group)), " ", element("small", {}, countText(node.cycles)))))] : null,
    ];
}

/* One line of what an item is, for those who do not see it. */
function describeItem(report, view, item) {
    if (item.group) {
        return "Module " + item.group.title + ", " + plural(item.group.operators, "operator") + ", " + countText(item.group.cycles)
            + " cycles, " + (item.open ? "open" : "closed");
    }
    const node = item.node, kind = placementOf(node);
    return String(node.label) + ", " + operatorText(node.operator) + ", " + PLACEMENTS[kind].long + ", result " + sizesText(node.sizes)
        + (node.cycles ? ", " + countText(node.cycles) + " cycles" : "");
}

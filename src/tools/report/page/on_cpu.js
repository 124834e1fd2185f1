"use strict";
/* What stays on the CPU and what would change that. */

function onCpuSection(report) {
    /* Without an NPU nothing stays away from it. */
    const none = report.summary.on_cpu === 0, given = report.target.npu === false ? [] : report.onCpu;
    if (!given.length && !report.splits.length && !report.fixes.length && !none) return null;
    const all = groupedCauses(report, given), causes = all.filter((cause) => !cause.first.by_cost), chosen = all.filter((cause) => cause.first.by_cost);
    const lost = causes.reduce((sum, cause) => sum + cause.lost, 0);
    return section("on-cpu", "On the CPU", causes.length ? plural(causes.length, "reason") + " for operators to stay on the CPU"
        + (lost ? "; because of " + (causes.length === 1 ? "it" : "them") + " an inference takes about " + countText(lost) + " cycles more." : ".")
        : report.target.npu === false ? "The target has no NPU." : chosen.length ? "Nothing has to stay on the CPU." : none ? "Every operator runs on the NPU." + (report.summary.cpu_cycles ? " The cycles of the CPU are for converting values on their way in and out." : "") : null,
        causes.length ? element("ol", { class: "causes" }, causes.map((cause) => causeItem(report, cause))) : null,
        chosen.length ? element("details", { class: "chosen" }, element("summary", {}, "On the CPU by choice, because it takes fewer cycles there: " + plural(chosen.reduce((sum, cause) => sum + cause.roots.length, 0), "operator")),
            element("ol", { class: "causes" }, chosen.map((cause) => causeItem(report, cause)))) : null,
        optionsTable(report), splitsTable(report));
}

/* Operators that stay for one reason, with one fix, are one entry: it is one decision. */
function groupedCauses(report, given) {
    const grouped = new Map();
    for (const cause of given) {
        const node = findNode(report, cause.node), key = JSON.stringify([cause.by_cost || (node && node.operator), cause.reason, cause.fix && cause.fix.text]);
        const group = grouped.get(key) || { first: cause, operator: cause.by_cost ? null : node && node.operator, roots: [], others: new Set(), lost: 0 };
        grouped.set(key, group);
        group.roots.push({ node, lost: cause.lost_cycles || 0 });
        group.lost += cause.lost_cycles || 0;
        for (const id of list(cause.operators)) if (id !== cause.node && report.byId.has(id)) group.others.add(report.byId.get(id));
    }
    const causes = [...grouped.values()].sort((a, b) => b.lost - a.lost);
    for (const cause of causes) cause.roots.sort((a, b) => b.lost - a.lost);
    return causes;
}

function causeItem(report, cause) {
    const { first, roots } = cause, others = [...cause.others], alone = roots.length === 1, node = roots[0].node;
    return element("li", { class: "cause" },
        element("div", { class: "cause-head" },
            element("h3", {}, alone ? nodeLink(report, node, node ? null : "operator") : (cause.operator ? operatorText(cause.operator) + ", " : "") + plural(roots.length, "operator")), node ? badge(placementOf(node)) : null,
            element("span", { class: "quiet" }, alone && node ? [node.operator, sourceText(node)].filter(Boolean).join("  \u00b7  ") : ""),
            cause.lost ? element("span", { class: "lost" }, element("strong", {}, countText(cause.lost)), " cycles to gain") : null),
        facts([["Why", first.reason], ["Fix", first.fix ? element("strong", {}, first.fix.text) : null],
            alone ? null : ["Operators", element("ul", { class: "plain" }, roots.slice(0, 12).map((root) => element("li", {}, nodeLink(report, root.node), " ",
                element("small", {}, [root.node ? sourceText(root.node) : "", root.lost ? countText(root.lost) + " cycles" : ""].filter(Boolean).join("  \u00b7  ")))),
                roots.length > 12 ? element("li", {}, "and " + plural(roots.length - 12, "other")) : null)]]),
        others.length ? element("details", {}, element("summary", {}, "stays with " + (alone ? "it" : "them") + ": " + plural(others.length, "operator")), links(report, others)) : null);
}

function optionsTable(report) {
    if (!report.fixes.length) return null;
    const now = report.summary.cycles, name = (row) => row.option || "without " + row.without;
    return [element("h3", {}, "What would help, each tried alone"), sortableTable("What would help", [
        { title: "Change", cell: (row) => element("code", {}, name(row)), value: name, wide: true },
        { title: "Cycles", cell: (row) => countText(row.cycles), value: (row) => row.cycles, numeric: true },
        { title: "Difference", cell: (row) => isNumber(now) && now ? signedPercent(row.cycles / now - 1) : DASH, value: (row) => row.cycles, numeric: true },
        { title: "On the CPU", cell: (row) => countText(row.on_cpu), value: (row) => row.on_cpu, numeric: true, minor: true },
        { title: "Partitions", cell: (row) => countText(row.partitions), value: (row) => row.partitions, numeric: true, minor: true },
    ], report.fixes)];
}

function signedPercent(share) {
    return (share > 0 ? "+" : share < 0 ? "\u2212" : "") + percentText(Math.abs(share));
}

function splitsTable(report) {
    if (!report.splits.length) return null;
    const tags = (value) => list(value).map((tag) => typeof tag === "number" ? partitionText(report, tag) : String(tag)).join(", ");
    return [element("h3", {}, "What separates the partitions"), sortableTable("What separates partitions", [
        { title: "Because of", cell: (row) => [nodeLink(report, findNode(report, row.node)), row.causes > 1 ? " and " + plural(row.causes - 1, "other") : null], value: (row) => row.node, wide: true },
        { title: "Between", cell: (row) => tags(row.before) + " | " + tags(row.after), value: (row) => tags(row.before) },
        { title: "To gain", cell: (row) => countText(row.saved_cycles), value: (row) => row.saved_cycles, numeric: true },
    ], report.splits, 2)];
}

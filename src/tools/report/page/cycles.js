"use strict";
/* Where the time goes: by operator, by kernel of the NPU, by instruction of the program, by module. */

function cyclesSection(report) {
    const views = [
        { value: "operators", title: "Operators", rows: operatorRows(report) },
        { value: "kernels", title: "NPU kernels", rows: kernelRows(report) },
        { value: "instructions", title: "Program", rows: instructionRows(report) },
        { value: "modules", title: "Modules", rows: moduleRows(report) },
    ].filter((view) => view.rows.length);
    if (!views.length) return null;
    /* Tables are made when they are first seen, and on paper all of them are. */
    const places = views.map((view) => element("div", { class: "view", hidden: true }, element("h3", {}, view.title)));
    const make = (i) => {
        if (places[i].children.length === 1) places[i].append(cyclesTable(report, views[i]));
    };
    const show = (value) => views.forEach((view, i) => {
        places[i].hidden = view.value !== value;
        if (!places[i].hidden) make(i);
    });
    show(views[0].value);
    addEventListener("beforeprint", () => views.forEach((view, i) => make(i)));
    const total = report.cycles;
    return section("cycles", "Cycles", countText(total) + " cycles for one inference" + (isNumber(report.summary.latency_us) ? ", " + durationText(report.summary.latency_us) : "")
        + ". Estimates of the model of cycles, not measurements on silicon.",
        views.length > 1 ? choice("Cycles by", views, views[0].value, show) : null, places);
}

function operatorRows(report) {
    return report.nodes.filter((node) => node.cycles && placementOf(node) !== "io").map((node) => ({
        name: nodeLink(report, node), text: String(node.label), what: operatorText(node.operator), kind: placementOf(node), cycles: node.cycles, source: sourceText(node), macs: node.macs,
    }));
}

function kernelRows(report) {
    return report.partitions.flatMap((partition, index) => list(partition.kernels).map((kernel, position) => {
        const nodes = list(kernel.nodes).map((id) => report.byId.get(id)).filter(Boolean);
        const text = kernel.label || nodes.map((node) => node.label).join(" + ") || "change of format";
        return { name: nodes.length ? nodeLink(report, nodes[0], text) : text, text, what: kernel.kernel, kind: "npu", cycles: kernel.cycles,
            source: partition.tag + "." + position, macs: nodes.reduce((sum, node) => sum + (node.macs || 0), 0) };
    }));
}

function instructionRows(report) {
    return report.instructions.map((instruction, i) => {
        const nodes = list(instruction.nodes).map((id) => report.byId.get(id)).filter(Boolean), kind = instruction.where in PLACEMENTS ? instruction.where : "cpu";
        const text = isNumber(instruction.partition) ? "call of " + partitionText(report, instruction.partition) : nodes.map((node) => node.label).join(" + ") || String(instruction.label || instruction.operator);
        return { name: nodes.length && kind !== "npu" ? nodeLink(report, nodes[0], text) : text, text, what: operatorText(instruction.operator), kind, cycles: instruction.cycles, source: String(i), position: i };
    });
}

/* Modules of the first level that tells them apart. */
function moduleRows(report) {
    const modules = new Map();
    for (const node of report.nodes) {
        if (!node.module || !node.cycles) continue;
        const parts = node.module.split("."), name = /^\d+$/.test(parts[1] || "") ? parts.slice(0, 2).join(".") : parts[0];
        const row = modules.get(name) || { name, text: name, npu: 0, cpu: 0, cycles: 0, operators: 0 };
        modules.set(name, row);
        row.cycles += node.cycles;
        row.operators++;
        if (placementOf(node) === "npu") row.npu += node.cycles;
    }
    if (modules.size < 2) return [];
    return [...modules.values()].map((row) => ({ ...row, what: plural(row.operators, "operator"), kind: row.npu * 2 >= row.cycles ? "npu" : "cpu",
        share: row.npu === row.cycles ? null : percentText(row.npu / row.cycles, 0) + " NPU" }));
}

function cyclesTable(report, view) {
    const most = view.rows.reduce((value, row) => Math.max(value, row.cycles || 0), 0), inOrder = view.value === "instructions";
    const sourceTitle = { operators: "Source", kernels: "Kernel", instructions: "No." }[view.value];
    const columns = [
        { title: view.title.replace(/s$/, "").replace("Program", "Instruction"), cell: (row) => row.name, value: (row) => row.text, wide: true },
        { title: view.value === "modules" ? "Size" : "Kind", cell: (row) => row.what, value: (row) => row.what, minor: true },
        { title: "On", cell: (row) => row.share || badge(row.kind), value: (row) => PLACEMENTS[row.kind].text },
        { title: "Cycles", cell: (row) => countText(row.cycles), value: (row) => row.cycles, numeric: true },
        { title: "Share", cell: (row) => element("div", { class: "share" }, element("span", {}, percentText(report.cycles ? row.cycles / report.cycles : null)), bar(most ? row.cycles / most : 0, row.kind)), numeric: true, wide: true },
    ];
    if (view.value === "operators") columns.splice(3, 0, { title: "MACs", cell: (row) => row.macs ? countText(row.macs) : DASH, value: (row) => row.macs || null, numeric: true, minor: true });
    if (sourceTitle) columns.push({ title: sourceTitle, cell: (row) => row.source || DASH, value: (row) => inOrder ? row.position : row.source, numeric: inOrder, minor: true });
    return sortableTable("Cycles by " + view.title.toLowerCase(), columns, view.rows, inOrder ? undefined : view.value === "operators" ? 4 : 3);
}

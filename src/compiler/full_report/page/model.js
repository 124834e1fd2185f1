"use strict";
/* What the sections ask of a report: nodes by id, who reads whom, which kernels a node has, which modules hold it. */

/* Where a node runs: the words, and the classes under which the style sheet gives colour, pattern and shape. */
const PLACEMENTS = {
    npu: { text: "NPU", long: "on the NPU" },
    cpu: { text: "CPU", long: "on the CPU, in int8" },
    cpu_float: { text: "CPU float", long: "on the CPU, in float" },
    folded: { text: "folded", long: "folded into others, no work of its own" },
    io: { text: "model", long: "input or output of the model" },
};

function placementOf(node) {
    if (node.operator === "input" || node.operator === "output") return "io";
    return PLACEMENTS[node.where] ? node.where : "folded";
}

function list(value) {
    return Array.isArray(value) ? value : [];
}

/* Any part of a report may be absent or null; after this every list is a list. */
function readReport(data) {
    const report = {
        data,
        summary: data.summary || {},
        model: data.model || {},
        target: data.target || {},
        nodes: list(data.nodes),
        partitions: list(data.partitions),
        instructions: list(data.instructions),
        memory: list(data.memory),
        onCpu: list(data.on_cpu),
        splits: list(data.splits),
        options: list(data.options),
        warnings: list(data.warnings),
        byId: new Map(),
        consumers: new Map(),
        kernels: new Map(),
    };
    for (const node of report.nodes) report.byId.set(node.id, node);
    for (const node of report.nodes) {
        for (const id of new Set(list(node.inputs))) {
            if (!report.consumers.has(id)) report.consumers.set(id, []);
            report.consumers.get(id).push(node);
        }
    }
    report.partitions.forEach((partition, index) => {
        list(partition.kernels).forEach((kernel, position) => {
            for (const id of list(kernel.nodes)) {
                if (!report.kernels.has(id)) report.kernels.set(id, []);
                report.kernels.get(id).push({ index, position, partition, kernel });
            }
        });
    });
    report.maxCycles = report.nodes.reduce((most, node) => Math.max(most, node.cycles || 0), 0);
    report.cycles = isNumber(report.summary.cycles) ? report.summary.cycles
        : report.nodes.reduce((sum, node) => sum + (node.cycles || 0), 0);
    return report;
}

function inputsOf(report, node) {
    return [...new Set(list(node.inputs))].map((id) => report.byId.get(id)).filter(Boolean);
}

function partitionText(report, index) {
    const partition = report.partitions[index];
    return partition ? String(partition.tag) : DASH;
}

/* A node of a list of the report may be given by id or by its name in the graph. */
function findNode(report, reference) {
    return report.byId.get(reference) || report.nodes.find((node) => node.name === reference) || null;
}

/* ---- modules ---- */

/* More items than this in one module are shown in runs: a model whose file names no modules would be one long list. */
const MOST_IN_A_GROUP = 60;
const RUN_LENGTH = 24;

/* The tree of modules. A group holds items in the order of the graph: { group } or { node }. A module with one operator
 * is that operator, a module with nothing but one other module is that module. */
function moduleTree(report) {
    const root = newGroup("", null);
    const groups = new Map([["", root]]);
    const named = report.nodes.some((node) => node.module);
    for (const node of report.nodes) {
        /* LiteRT models have no modules, but names of tensors that are paths. */
        const path = named ? node.module || "" : String(node.label || "").split(";")[0].replace(/\/?[^/]*$/, "");
        groupAt(groups, placementOf(node) === "io" ? "" : path).items.push({ node });
    }
    simplify(root);
    if (!root.items.some((item) => item.group) || root.items.length > MOST_IN_A_GROUP) splitIntoRuns(root);
    finish(root, null, 0);
    return root;
}

function newGroup(path, parent) {
    return { path, parent, items: [], key: "g:" + path, depth: 0, nodes: [] };
}

function groupAt(groups, path) {
    if (groups.has(path)) return groups.get(path);
    const cut = Math.max(path.lastIndexOf("."), path.lastIndexOf("/"));
    const parent = groupAt(groups, cut < 0 ? "" : path.slice(0, cut));
    const group = newGroup(path, parent);
    groups.set(path, group);
    parent.items.push({ group });
    return group;
}

function simplify(group) {
    group.items = group.items.map((item) => {
        if (!item.group) return item;
        simplify(item.group);
        return item.group.items.length === 1 ? item.group.items[0] : item;
    });
}

/* Nodes follow one another in the order of the graph, so that runs of them never depend on each other in a circle. */
function splitIntoRuns(group) {
    if (group.items.length > MOST_IN_A_GROUP) {
        const runs = Math.ceil(group.items.length / RUN_LENGTH), items = group.items;
        group.items = [];
        for (let i = 0; i < runs; i++) {
            const part = items.slice(Math.floor((i * items.length) / runs), Math.floor(((i + 1) * items.length) / runs));
            const run = newGroup(group.path, group);
            run.key = group.key + "#" + i;
            run.items = part;
            run.title = titleOf(part[0]) + " \u2026 " + titleOf(part[part.length - 1]);
            group.items.push({ group: run });
        }
    }
    for (const item of group.items) if (item.group) splitIntoRuns(item.group);
}

function titleOf(item) {
    return item.group ? item.group.title || item.group.path : String(item.node.label);
}

function finish(group, parent, depth) {
    group.parent = parent;
    group.depth = depth;
    group.nodes = [];
    for (const item of group.items) {
        if (item.group) {
            finish(item.group, group, depth + 1);
            group.nodes.push(...item.group.nodes);
        } else {
            item.node.group = group;
            group.nodes.push(item.node);
        }
    }
    group.title = group.title || shorter(group.path, parent);
    group.cycles = group.nodes.reduce((sum, node) => sum + (node.cycles || 0), 0);
    group.operators = group.nodes.filter((node) => placementOf(node) !== "io").length;
}

/* A name inside a module is read as part of it: "c1" inside "blocks.0", not "blocks.0.c1". */
function shorter(text, group) {
    for (let at = group; at; at = at.parent) {
        const path = at.path;
        if (path && text.startsWith(path) && /[./]/.test(text[path.length] || "")) return text.slice(path.length + 1);
    }
    return text;
}

function groupsOf(root) {
    const all = [];
    (function walk(group) {
        for (const item of group.items) {
            if (!item.group) continue;
            all.push(item.group);
            walk(item.group);
        }
    })(root);
    return all;
}

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
        fixes: list(data.fixes),
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
    report.worstError = report.nodes.reduce((most, node) => Math.max(most, errorOf(node)), 0);
    report.cycles = isNumber(report.summary.cycles) ? report.summary.cycles
        : report.nodes.reduce((sum, node) => sum + (node.cycles || 0), 0);
    return report;
}

/* The error after a node as a share of the signal, at most all of it. */
function errorOf(node) {
    return placementOf(node) === "folded" ? 0 : Math.min(1, relativeError(node.sqnr_db) || 0);
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
    const root = newGroup("", null, "g:"), groups = new Map();
    const paths = callPaths(report, modulePaths(report));
    for (const node of report.nodes) {
        let group = root;
        for (const part of paths.get(node.id)) {
            const key = group.key + "/" + part.name + (part.call ? "#" + part.call : "");
            if (!groups.has(key)) {
                groups.set(key, newGroup(part.path, group, key));
                groups.get(key).call = part.calls > 1 ? part.call + 1 : 0;
                group.items.push({ group: groups.get(key) });
            }
            group = groups.get(key);
        }
        group.items.push({ node });
    }
    simplify(root);
    splitIntoRuns(root);
    finish(root, null, 0);
    return root;
}

function newGroup(path, parent, key) {
    return { path, parent, items: [], key, depth: 0, nodes: [], call: 0 };
}

/* The modules around each node, outermost first: { name, path }. */
function modulePaths(report) {
    const named = report.nodes.some((node) => node.module), texts = new Map();
    for (const node of report.nodes) {
        /* LiteRT models have no modules, but names of tensors that are paths. */
        texts.set(node.id, placementOf(node) === "io" ? "" : named ? node.module : String(node.label || "").split(";")[0].replace(/\/?[^/]*$/, ""));
    }
    for (const node of report.nodes) {
        /* What the compiler put between two nodes of a module is part of the module. */
        if (typeof texts.get(node.id) === "string") continue;
        const before = texts.get(list(node.inputs)[0]) || "", after = texts.get(((report.consumers.get(node.id) || [])[0] || {}).id) || "";
        texts.set(node.id, before === after || after.startsWith(before + ".") ? before : before.startsWith(after + ".") ? after : "");
    }
    const paths = new Map();
    for (const [id, text] of texts) {
        const names = text.split(/[./]/).filter(Boolean);
        let end = 0;
        paths.set(id, names.map((name) => {
            end = text.indexOf(name, end) + name.length;
            return { name, path: text.slice(0, end), call: 0, calls: 1 };
        }));
    }
    return paths;
}

/* A module that is called again after others read its result, as a pooling that two stages share, is one group per call:
 * as one it would stand before and after them. The call of a node is how often paths to it have left the module. */
function callPaths(report, paths) {
    for (let depth = 0, more = true; more; depth++) {
        const members = new Map();
        for (const node of report.nodes) {
            const path = paths.get(node.id);
            if (path.length <= depth) continue;
            const key = path.slice(0, depth + 1).map((part) => part.name + "#" + part.call).join("/");
            if (!members.has(key)) members.set(key, new Set());
            members.get(key).add(node.id);
        }
        more = members.size > 0;
        for (const inside of members.values()) numberCalls(report, paths, depth, inside);
    }
    return paths;
}

function numberCalls(report, paths, depth, inside) {
    const calls = new Map();
    let left = inside.size, most = 0, started = false;
    for (const node of report.nodes) {
        if (!left) break;
        const within = inside.has(node.id);
        started = started || within;
        if (!started) continue;
        let call = 0;
        for (const id of list(node.inputs)) {
            if (calls.has(id)) call = Math.max(call, calls.get(id) + (inside.has(id) && !within ? 1 : 0));
        }
        calls.set(node.id, call);
        if (!within) continue;
        left--;
        most = Math.max(most, call);
    }
    if (!most) return;
    for (const id of inside) Object.assign(paths.get(id)[depth], { call: calls.get(id), calls: most + 1 });
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
            const run = newGroup(group.path, group, group.key + "/:" + i);
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
    group.title = group.title || shorter(group.path, parent) + (group.call ? ", call " + group.call : "");
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

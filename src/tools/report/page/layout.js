"use strict";
/* The whole graph: each open module is laid out by itself and then stands as one large node in the module around it, so
 * that modules never overlap. An edge between nodes of different modules has a piece in every module it passes, with a
 * place on the border where the pieces meet.
 *
 * Networks are long and narrow, screens are not: layers of a level that is much higher than wide are set in columns,
 * from left to right, like text. */

const GROUP_HEADER = 28;
const GROUP_PADDING = 14;
const COLUMN_GAP = 34;
const LANE = 7;
const LANES_BELOW = 15; /* clear of the sizes that stand below a node */
/* Lower levels stay in one column: what is inside of a module is read better so. */
const BREAK_HEIGHT = 640;
const BREAK_HEIGHT_INSIDE = 1100;
const MOST_COLUMNS = 8;

/* open: keys of the modules shown with their content. measure(item) gives { width, height } of a node or closed module.
 * aspect: width over height of the window that shows it.
 * Returns { items, pieces, width, height, neighbours }: items with key, x, y, width, height and node or group, outer
 * before inner; pieces of edges with path, box, the key of their source and the keys of the items they lead to. */
function layoutGraph(report, root, open, measure, aspect) {
    const visible = visibleItems(root, open);
    const levels = splitEdges(report, visible, root, open);
    const placed = layoutGroup(root, levels, visible, open, measure, aspect);
    const result = { items: [], pieces: [], width: placed.width, height: placed.height, edges: levels.edges };
    flatten(placed, 0, 0, result);
    return result;
}

/* For every node the item that stands for it: itself, or the outermost closed module around it. */
function visibleItems(root, open) {
    const of = new Map();
    (function walk(group, standsIn) {
        for (const item of group.items) {
            if (item.group) walk(item.group, standsIn || (open.has(item.group.key) ? null : item.group));
            else of.set(item.node.id, standsIn ? { key: standsIn.key, group: standsIn, inside: standsIn.parent }
                : { key: "n:" + item.node.id, node: item.node, inside: group });
        }
    })(root, null);
    return of;
}

/* The groups around an item, outermost first. */
function path(item) {
    const groups = [];
    for (let at = item.inside; at; at = at.parent) groups.unshift(at);
    return groups;
}

/* Edges between visible items, and for each group the pieces that lie in it. */
function splitEdges(report, visible, root, open) {
    const levels = { pieces: new Map(), edges: new Map() };
    for (const node of report.nodes) {
        const to = visible.get(node.id);
        for (const input of inputsOf(report, node)) {
            const from = visible.get(input.id);
            if (!from || from.key === to.key) continue;
            const key = from.key + ">" + to.key;
            const edge = levels.edges.get(key) || { from: from.key, to: to.key, values: new Set(), crosses: false };
            edge.values.add(input.id);
            edge.crosses = edge.crosses || leavesPartition(input, node);
            if (!levels.edges.has(key)) {
                levels.edges.set(key, edge);
                addPieces(levels, from, to, edge);
            }
        }
    }
    return levels;
}

/* Where a value is handed from one processor, or one partition, to another. */
function leavesPartition(from, to) {
    const a = placementOf(from), b = placementOf(to);
    if (a === "io" || b === "io" || a === "folded" || b === "folded") return false;
    return (a === "npu") !== (b === "npu") || (a === "npu" && from.partition !== to.partition);
}

function addPieces(levels, from, to, edge) {
    const a = path(from), b = path(to);
    let common = 0;
    while (common + 1 < a.length && common + 1 < b.length && a[common + 1] === b[common + 1]) common++;
    const child = (groups, item, level) => level + 1 < groups.length ? groups[level + 1].key : item.key;
    for (let level = common + 1; level < a.length; level++) addPiece(levels, a[level], child(a, from, level), "out", from.key, edge);
    addPiece(levels, a[common], child(a, from, common), child(b, to, common), from.key, edge);
    for (let level = common + 1; level < b.length; level++) addPiece(levels, b[level], "in", child(b, to, level), from.key, edge);
}

function addPiece(levels, group, from, to, source, edge) {
    if (!levels.pieces.has(group.key)) levels.pieces.set(group.key, new Map());
    const pieces = levels.pieces.get(group.key), key = from + "|" + to + "|" + source;
    if (!pieces.has(key)) pieces.set(key, { from, to, source, edges: [] });
    pieces.get(key).edges.push(edge);
}

/* ---- one group ---- */

function layoutGroup(group, levels, visible, open, measure, aspect) {
    const nodes = [], index = new Map();
    for (const item of group.items) {
        const key = item.group ? item.group.key : "n:" + item.node.id;
        const inner = item.group && open.has(key) ? layoutGroup(item.group, levels, visible, open, measure, aspect) : null;
        const size = inner || measure(item);
        index.set(key, nodes.length);
        nodes.push({ key, item, inner, kind: "item", width: size.width, height: size.height,
            inAt: inner && inner.inAt, outAt: inner && inner.outAt });
    }
    const pieces = [...(levels.pieces.get(group.key) || new Map()).values()];
    const port = (kind, source) => {
        const key = kind + " " + source;
        if (!index.has(key)) {
            index.set(key, nodes.length);
            nodes.push({ key, kind, source, width: 8, height: 0 });
        }
        return index.get(key);
    };
    const edges = pieces.map((piece) => ({
        from: piece.from === "in" ? port("in", piece.source) : index.get(piece.from),
        to: piece.to === "out" ? port("out", piece.source) : index.get(piece.to),
        source: piece.source,
    }));
    const level = layerLevel({ nodes, edges });
    const header = group.parent ? GROUP_HEADER : 0, padding = group.parent ? GROUP_PADDING : 0;
    const placed = arrange(level, header + padding, padding, aspect, group.parent ? measure({ title: group }).width : 0);
    placed.group = group;
    placed.children = nodes.filter((node) => node.kind === "item");
    placed.paths = level.chains.map((chain, i) => ({
        piece: pieces[i], path: routeOf(chain, placed), back: chain.reversed, ends: pieces[i].to !== "out" && !nodes[edges[i].to].inner,
    }));
    placed.inAt = new Map();
    placed.outAt = new Map();
    for (const node of nodes) {
        if (node.kind === "in") placed.inAt.set(node.source, borderOf(node) - placed.width / 2);
        if (node.kind === "out") placed.outAt.set(node.source, borderOf(node) - placed.width / 2);
    }
    return placed;
}

/* Gives every vertex its middle and every layer its top and bottom, in columns where that suits the window. The title of
 * a group needs the width `least`, in whose middle narrower content stands. */
function arrange(level, top, side, aspect, least) {
    const { layers } = level;
    const heights = layers.map((layer) => layer.reduce((most, vertex) => Math.max(most, vertex.height), 0));
    const gaps = layers.map((layer) => {
        let widest = 0;
        for (const vertex of layer) {
            for (const link of vertex.down) widest = Math.max(widest, Math.abs(link.to.x + link.there - vertex.x - link.here));
        }
        const ports = layer.length && layer.every((vertex) => vertex.node && vertex.node.kind === "in");
        return Math.min(90, (ports ? LAYER_GAP / 2 : LAYER_GAP) + widest * 0.08);
    });
    const columns = chooseColumns(layers, heights, gaps, aspect, side ? BREAK_HEIGHT_INSIDE : BREAK_HEIGHT);
    const lanes = columns.map((column) => crossingSources(layers, column.last));
    const most = lanes.reduce((n, sources) => Math.max(n, sources.length), 0);
    const ins = portsOf(layers[0], "in"), outs = portsOf(layers[layers.length - 1], "out"), border = top;
    if (columns.length > 1) top += LANE * (most + ins.length) + LAYER_GAP / 2;
    const extents = columns.map((column) => extentOf(layers.slice(column.first, column.last + 1)));
    const content = extents.reduce((sum, extent, c) => sum + extent.right - extent.left
        + (c < columns.length - 1 ? COLUMN_GAP + LANE * lanes[c].length : 0), 0);
    const back = level.chains.filter((chain) => chain.reversed).length * LANE;
    const width = Math.max(least, content + 2 * side + (back ? 2 * back + LANE : 0));
    let x = (width - content) / 2, bottom = 0;
    columns.forEach((column, c) => {
        let y = top;
        for (let i = column.first; i <= column.last; i++) {
            for (const vertex of layers[i]) {
                vertex.x += x - extents[c].left;
                vertex.top = y;
                vertex.bottom = y + heights[i];
                vertex.column = c;
                if (vertex.node) {
                    vertex.node.x = vertex.x;
                    vertex.node.y = y + (heights[i] - vertex.height) / 2;
                }
            }
            y += heights[i] + gaps[i];
        }
        column.bottom = y - gaps[column.last];
        bottom = Math.max(bottom, column.bottom + (c < columns.length - 1 ? LANE * lanes[c].length + LANES_BELOW : 0));
        column.right = x + extents[c].right - extents[c].left;
        column.lanes = lanes[c];
        x = column.right + (c < columns.length - 1 ? COLUMN_GAP + LANE * lanes[c].length : 0);
    });
    if (back) bottom += LAYER_GAP / 2;
    const outLanes = bottom + LANE / 2;
    if (columns.length > 1) bottom += LANE * outs.length;
    if (columns.length > 1) {
        spreadPorts(ins, width / 2, border - side / 2);
        spreadPorts(outs, width / 2, outLanes);
    }
    return { columns, top, width, height: bottom + side, back: { right: (width + content) / 2 + LANE, next: 0 } };
}

function portsOf(layer, kind) {
    return layer.filter((vertex) => vertex.node && vertex.node.kind === kind).sort((a, b) => a.x - b.x).map((vertex) => vertex.node);
}

/* From outside, a module in columns is entered and left in the middle: with places above the first column and below the
 * last, modules one below the other would be a staircase. Lanes lead from the border to the columns. */
function spreadPorts(ports, middle, y) {
    ports.forEach((port, i) => {
        port.borderX = middle + (i - (ports.length - 1) / 2) * EDGE_GAP;
        port.laneY = y + LANE * i;
    });
}

function borderOf(node) {
    return node.borderX === undefined ? node.x : node.borderX;
}

function extentOf(layers) {
    let left = Infinity, right = -Infinity;
    for (const layer of layers) {
        for (const vertex of layer) {
            left = Math.min(left, vertex.x - vertex.width / 2);
            right = Math.max(right, vertex.x + vertex.width / 2);
        }
    }
    return { left, right };
}

/* As many columns as let the level be largest in a window of this shape; a few percent are not worth a break. */
function chooseColumns(layers, heights, gaps, aspect, breakHeight) {
    const height = heights.reduce((sum, value, i) => sum + value + gaps[i], 0);
    const candidates = [[{ first: 0, last: layers.length - 1 }]];
    for (let count = 2; height >= breakHeight && count <= Math.min(MOST_COLUMNS, layers.length / 2); count++) {
        const columns = breakInto(count, layers, heights, gaps);
        if (columns) candidates.push(columns);
    }
    /* A column of a node or two beside a full one looks like a mistake. */
    const scales = candidates.map((columns) => scaleOf(columns, layers, heights, gaps, aspect));
    const best = Math.max(...scales);
    return candidates[scales.findIndex((scale) => scale >= 0.85 * best)];
}

/* How large a window of height 1 shows columns side by side. */
function scaleOf(columns, layers, heights, gaps, aspect) {
    let width = 0, height = 0, least = Infinity;
    for (const { first, last } of columns) {
        const extent = extentOf(layers.slice(first, last + 1));
        let y = 0;
        for (let i = first; i <= last; i++) y += heights[i] + gaps[i];
        width += extent.right - extent.left + COLUMN_GAP;
        height = Math.max(height, y);
        least = Math.min(least, y);
    }
    return least < 0.12 * height ? 0 : Math.min(aspect / width, 1 / height);
}

/* Columns of about the same height, each of which ends where few edges go on; null where that cannot be. */
function breakInto(count, layers, heights, gaps) {
    const columns = [];
    let first = 0, rest = heights.reduce((sum, value, i) => sum + value + gaps[i], 0);
    for (let c = 0; c < count - 1; c++) {
        const target = rest / (count - c);
        let y = 0, best = -1, cost = Infinity, used = 0;
        for (let i = first; i < layers.length - (count - c - 1); i++) {
            y += heights[i] + gaps[i];
            const off = Math.abs(y - target) / target;
            if (off > 0.3 && best >= 0 && y > target) break;
            const here = crossingSources(layers, i).length + 8 * off;
            /* Not between a border and the first node. */
            if (here >= cost || layers[i].every((vertex) => vertex.node && vertex.node.kind === "in")) continue;
            cost = here;
            best = i;
            used = y;
        }
        if (best < 0) return null;
        columns.push({ first, last: best });
        first = best + 1;
        rest -= used;
    }
    columns.push({ first, last: layers.length - 1 });
    return columns;
}

/* The vertices of layer i whose values go on to the next one, from right to left: the order of lanes without crossings. */
function crossingSources(layers, i) {
    return layers[i].filter((vertex) => vertex.down.length).sort((a, b) => b.x - a.x);
}

/* ---- ways ---- */

/* A path is a list of commands as in SVG, [letter, x, y, ...], downwards. */
function routeOf(chain, placed) {
    if (chain.reversed) return routeBack(chain, placed);
    const commands = [], vertices = chain.chain;
    vertices.forEach((vertex, i) => {
        const node = vertex.node;
        const here = vertex.x + (node ? (i === 0 ? offsetAt(node.outAt, chain.source) : offsetAt(node.inAt, chain.source)) : 0);
        if (i > 0) enter(commands, vertices[i - 1], vertex, here, placed);
        else if (node.kind === "in") cross(commands, [borderOf(node), 0], node.laneY, [here, vertex.bottom]);
        else commands.push(["M", here, node.y + node.height], ["L", here, vertex.bottom]);
        if (i === vertices.length - 1) {
            if (node.kind === "out") cross(commands, [here, vertex.top], node.laneY, [borderOf(node), placed.height]);
            else commands.push(["L", here, node.y]);
        }
        else if (i > 0) commands.push(["L", here, vertex.bottom]);
    });
    /* A piece without length has no direction, which an arrow at its end would need. */
    const end = commands[commands.length - 1], before = commands[commands.length - 2];
    if (end[2] === before[before.length - 1]) commands.pop();
    return commands;
}

function offsetAt(map, source) {
    return (map && map.get(source)) || 0;
}

function enter(commands, from, to, x, placed) {
    const last = commands[commands.length - 1], x0 = last[last.length - 2], y0 = last[last.length - 1];
    if (from.column === to.column) {
        const middle = (y0 + to.top) / 2;
        commands.push(["C", x0, middle, x, middle, x, to.top]);
        return;
    }
    const column = placed.columns[from.column], lane = column.lanes.indexOf(from), lanes = column.lanes.length;
    const below = column.bottom + LANES_BELOW + LANE * (lane + 0.5);
    const gutter = column.right + COLUMN_GAP / 2 + LANE * (lane + 0.5);
    const above = placed.top - LAYER_GAP / 4 - LANE * (lanes - lane - 0.5);
    corners(commands, [[x0, below], [gutter, below], [gutter, above], [x, above], [x, to.top]]);
}

/* Down, along a lane, down: between a place on the border and one inside. */
function cross(commands, from, lane, to) {
    if (!commands.length) commands.push(["M", ...from]);
    if (from[0] === to[0] || lane === undefined) commands.push(["L", ...to]);
    else corners(commands, [[from[0], lane], [to[0], lane], to]);
}

/* Straight lines with rounded corners from where the path is through the points. */
function corners(commands, points) {
    const last = commands[commands.length - 1];
    let at = [last[last.length - 2], last[last.length - 1]];
    points.forEach((point, i) => {
        const next = points[i + 1];
        if (!next) {
            commands.push(["L", point[0], point[1]]);
            return;
        }
        const before = Math.hypot(point[0] - at[0], point[1] - at[1]), after = Math.hypot(next[0] - point[0], next[1] - point[1]);
        const radius = Math.min(6, before / 2, after / 2);
        if (radius < 0.5) return;
        const entry = toward(point, at, radius / before), exit = toward(point, next, radius / after);
        commands.push(["L", ...entry], ["Q", ...point, ...exit]);
        at = exit;
    });
}

function toward(from, to, share) {
    return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
}

/* An edge that closes a circle leaves at the bottom like any other, and comes back at the right of everything. */
function routeBack(chain, placed) {
    const upper = chain.chain[0], lower = chain.chain[chain.chain.length - 1], to = upper.node, from = lower.node, right = placed.back.right + LANE * placed.back.next++;
    const x0 = from.x + offsetAt(from.outAt, chain.source), x1 = to.x + offsetAt(to.inAt, chain.source), below = lower.bottom + LAYER_GAP / 3, above = upper.top - LAYER_GAP / 3;
    const commands = [["M", x0, from.y + from.height]];
    corners(commands, [[x0, below], [right, below], [right, above], [x1, above], [x1, to.y]]);
    return commands;
}

/* ---- from groups to one plane ---- */

function flatten(placed, x, y, result) {
    for (const child of placed.children) {
        const left = x + child.x - child.width / 2, top = y + child.y;
        result.items.push({ key: child.key, node: child.item.node, group: child.item.group, open: Boolean(child.inner),
            x: left, y: top, width: child.width, height: child.height });
        if (child.inner) flatten(child.inner, left, top, result);
    }
    for (const { piece, path, back, ends } of placed.paths) {
        let text = "", left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
        for (const [letter, ...numbers] of path) {
            text += letter;
            for (let i = 0; i < numbers.length; i += 2) {
                const px = numbers[i] + x, py = numbers[i + 1] + y;
                text += (i ? " " : "") + px.toFixed(1) + " " + py.toFixed(1);
                left = Math.min(left, px);
                right = Math.max(right, px);
                top = Math.min(top, py);
                bottom = Math.max(bottom, py);
            }
        }
        result.pieces.push({
            key: result.pieces.length, path: text, source: piece.source, back, ends,
            targets: new Set(piece.edges.map((edge) => edge.to)), crosses: piece.edges.some((edge) => edge.crosses),
            x: left, y: top, width: right - left, height: bottom - top,
        });
    }
}

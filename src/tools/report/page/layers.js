"use strict";
/* One level of the graph as layers from top to bottom (Sugiyama, Tagawa, Toda 1981): circles broken, nodes assigned to
 * layers, long edges given a place in every layer that they pass, crossings reduced, coordinates chosen.
 *
 * A level has `nodes` { width, height, kind: "item" | "in" | "out", inAt, outAt } and `edges` { from, to, source }, where
 * from and to are indices of nodes and `source` names the value. inAt and outAt are maps from a source to where on the
 * node its edge ends, from the middle: an open module passes a value on to the node inside that reads it. Edges of one
 * value out of one node share their way as far as they go together. */

const LAYER_GAP = 30;
const NODE_GAP = 22;
const EDGE_GAP = 12;

/* Returns { layers, chains }: layers of vertices { node | null, width, height, layer, x }, x the middle, and for every
 * edge the vertices it passes, downwards, with `reversed` where it points upwards. */
function layerLevel(level) {
    const edges = withoutCircles(level);
    const rank = assignLayers(level.nodes, edges);
    const built = buildLayers(level.nodes, edges, rank);
    orderLayers(built);
    placeAcross(built);
    return built;
}

/* Edges that close a circle, found depth first, are turned round for the layout. Modules of a graph without circles may
 * have them: what a module computes may pass through another and come back. */
function withoutCircles(level) {
    const out = level.nodes.map(() => []);
    level.edges.forEach((edge, index) => out[edge.from].push(index));
    const state = new Uint8Array(level.nodes.length), turned = new Set();
    for (let root = 0; root < level.nodes.length; root++) {
        if (state[root]) continue;
        const stack = [[root, 0]];
        state[root] = 1;
        while (stack.length) {
            const top = stack[stack.length - 1];
            if (top[1] === out[top[0]].length) {
                state[top[0]] = 2;
                stack.pop();
                continue;
            }
            const index = out[top[0]][top[1]++], to = level.edges[index].to;
            if (state[to] === 1) turned.add(index);
            else if (state[to] === 0) {
                state[to] = 1;
                stack.push([to, 0]);
            }
        }
    }
    return level.edges.map((edge, index) => turned.has(index)
        ? { from: edge.to, to: edge.from, source: edge.source, reversed: true }
        : { from: edge.from, to: edge.to, source: edge.source, reversed: false });
}

/* Longest path from the top. Nodes that feed more than they read then move down to their readers, so that a constant or
 * an input of a late node does not draw an edge across everything. */
function assignLayers(nodes, edges) {
    const out = nodes.map(() => []), into = nodes.map(() => []), open = new Int32Array(nodes.length);
    for (const edge of edges) {
        out[edge.from].push(edge.to);
        into[edge.to].push(edge.from);
        open[edge.to]++;
    }
    const rank = new Int32Array(nodes.length), order = [];
    const first = nodes.some((node) => node.kind === "in") ? 1 : 0;
    nodes.forEach((node, i) => {
        rank[i] = node.kind === "in" ? 0 : first;
        if (!open[i]) order.push(i);
    });
    for (let next = 0; next < order.length; next++) {
        for (const to of out[order[next]]) {
            rank[to] = Math.max(rank[to], rank[order[next]] + 1);
            if (--open[to] === 0) order.push(to);
        }
    }
    for (let at = order.length - 1; at >= 0; at--) {
        const i = order[at];
        if (nodes[i].kind === "in" || !out[i].length || into[i].length >= out[i].length) continue;
        rank[i] = out[i].reduce((least, to) => Math.min(least, rank[to] - 1), Infinity);
    }
    const last = rank.reduce((most, value, i) => nodes[i].kind === "out" ? most : Math.max(most, value), 0);
    nodes.forEach((node, i) => {
        if (node.kind === "out") rank[i] = last + 1;
    });
    return rank;
}

function buildLayers(nodes, edges, rank) {
    const count = rank.reduce((most, value) => Math.max(most, value), -1) + 1;
    const layers = Array.from({ length: count }, () => []);
    const vertices = nodes.map((node, i) => {
        const vertex = { node, width: node.width, height: node.height, layer: rank[i], x: 0, up: [], down: [] };
        layers[rank[i]].push(vertex);
        return vertex;
    });
    const passing = new Map(), linked = new Set();
    let serial = 0;
    for (const vertex of vertices) vertex.serial = serial++;
    const chains = edges.map((edge) => {
        const chain = [vertices[edge.from]];
        for (let layer = rank[edge.from] + 1; layer < rank[edge.to]; layer++) {
            const key = edge.from + " " + layer + " " + edge.source;
            if (!passing.has(key)) {
                const vertex = { node: null, width: EDGE_GAP, height: 0, layer, x: 0, up: [], down: [], serial: serial++ };
                layers[layer].push(vertex);
                passing.set(key, vertex);
            }
            chain.push(passing.get(key));
        }
        chain.push(vertices[edge.to]);
        for (let i = 1; i < chain.length; i++) link(linked, chain[i - 1], chain[i], edge);
        return { chain, edge, source: edge.source, reversed: edge.reversed };
    });
    return { layers, chains };
}

/* A long edge wants to be straight more than the first and last piece of it, and an edge between neighbours more than
 * these: the main path of a network becomes a straight line, what skips layers runs beside it. */
function link(linked, upper, lower, edge) {
    const from = upper.node && upper.node.outAt ? upper.node.outAt.get(edge.source) || 0 : 0;
    const to = lower.node && lower.node.inAt ? lower.node.inAt.get(edge.source) || 0 : 0;
    const key = upper.serial + " " + lower.serial + " " + from + " " + to;
    if (linked.has(key)) return;
    linked.add(key);
    const weight = upper.node && lower.node ? 8 : upper.node || lower.node ? 1 : 12;
    upper.down.push({ to: lower, here: from, there: to, weight });
    lower.up.push({ to: upper, here: to, there: from, weight });
}

/* ---- order within layers ---- */

const SWEEPS = 12;
const WORK_OF_ORDERING = 400000; /* links looked at, which bounds the time of large levels */

function orderLayers(built) {
    const { layers } = built;
    startDepthFirst(layers);
    let links = 0;
    for (const layer of layers) for (const vertex of layer) links += vertex.down.length;
    const sweeps = Math.min(SWEEPS, Math.max(2, Math.floor(WORK_OF_ORDERING / (links + 1))));
    let best = crossings(layers), kept = layers.map((layer) => layer.slice());
    for (let sweep = 0; sweep < sweeps && best > 0; sweep++) {
        const down = sweep % 2 === 0;
        for (let i = 0; i < layers.length; i++) sortByNeighbours(layers[down ? i : layers.length - 1 - i], down ? "up" : "down");
        const now = crossings(layers);
        if (now < best) {
            best = now;
            kept = layers.map((layer) => layer.slice());
        }
    }
    kept.forEach((layer, i) => {
        layers[i] = layer;
        number(layer);
    });
}

function number(layer) {
    layer.forEach((vertex, i) => { vertex.order = i; });
}

/* Depth first from the top: what belongs together starts side by side. */
function startDepthFirst(layers) {
    const seen = new Set(), fresh = layers.map(() => []);
    for (const layer of layers) {
        for (const root of layer) {
            const stack = [root];
            while (stack.length) {
                const vertex = stack.pop();
                if (seen.has(vertex)) continue;
                seen.add(vertex);
                fresh[vertex.layer].push(vertex);
                for (let i = vertex.down.length - 1; i >= 0; i--) stack.push(vertex.down[i].to);
            }
        }
    }
    fresh.forEach((layer, i) => {
        layers[i] = layer;
        number(layer);
    });
}

function place(link) {
    return link.to.order + (link.to.width ? Math.max(-0.45, Math.min(0.45, link.there / link.to.width)) : 0);
}

function sortByNeighbours(layer, side) {
    for (const vertex of layer) {
        const links = vertex[side];
        vertex.wish = links.length ? links.reduce((sum, link) => sum + place(link), 0) / links.length : vertex.order;
    }
    layer.sort((a, b) => a.wish - b.wish || a.order - b.order);
    number(layer);
}

/* Pairs of links between two layers that cross: inversions, counted with a tree of sums. */
function crossings(layers) {
    let total = 0;
    for (const layer of layers) {
        const ends = [];
        for (const vertex of layer) {
            const links = vertex.down.slice().sort((a, b) => a.here - b.here || place(a) - place(b));
            for (const link of links) ends.push(link);
        }
        if (ends.length < 2) continue;
        const places = [...new Set(ends.map(place))].sort((a, b) => a - b);
        const index = new Map(places.map((value, i) => [value, i + 1])), tree = new Int32Array(places.length + 1);
        ends.forEach((link, seen) => {
            let below = 0;
            for (let i = index.get(place(link)); i > 0; i -= i & -i) below += tree[i];
            total += seen - below;
            for (let i = index.get(place(link)); i <= places.length; i += i & -i) tree[i]++;
        });
    }
    return total;
}

/* ---- coordinates ---- */

const PASSES = 24;

/* Each vertex wants to stand under, then above, the mean of its neighbours; order and distances within a layer hold.
 * What is closest to all wishes, in weighted squares, is an isotonic regression, which pooling neighbours that are in
 * each other's way solves exactly. */
function placeAcross(built) {
    for (const layer of built.layers) {
        let x = 0;
        layer.forEach((vertex, i) => {
            if (i) x += distance(layer[i - 1], vertex);
            vertex.x = x;
        });
        for (const vertex of layer) vertex.x -= x / 2;
    }
    for (let pass = 0; pass < PASSES; pass++) {
        const down = pass % 2 === 0, both = pass >= PASSES - 4;
        for (let i = 0; i < built.layers.length; i++) {
            const layer = built.layers[down ? i : built.layers.length - 1 - i];
            pool(layer, both ? ["up", "down"] : [down ? "up" : "down"]);
        }
    }
    for (let pass = 0; pass < 2; pass++) straighten(built.layers);
}

/* Pooling gets everything near its place. Edges whose both ends matter most to each other then become straight lines, as
 * far as what stands beside them leaves room. */
function straighten(layers) {
    const heaviest = (links) => links.reduce((best, link) => !best || link.weight > best.weight ? link : best, null);
    for (const layer of layers) {
        for (const vertex of layer) {
            const up = heaviest(vertex.up), above = up && heaviest(up.to.down);
            if (above && above.to === vertex) continue;
            let line = [], room = { least: -Infinity, most: Infinity }, shift = 0;
            for (let at = vertex; at;) {
                const free = roomOf(layers[at.layer], at), next = { least: Math.max(room.least, free.least - shift), most: Math.min(room.most, free.most - shift) };
                if (next.least > next.most) {
                    settle(line, room);
                    line = [];
                    shift = 0;
                    room = { least: free.least, most: free.most };
                } else room = next;
                line.push({ vertex: at, shift });
                const down = heaviest(at.down), back = down && heaviest(down.to.up);
                if (!back || back.to !== at) break;
                shift += down.here - down.there;
                at = down.to;
            }
            settle(line, room);
        }
    }
}

function roomOf(layer, vertex) {
    const left = layer[vertex.order - 1], right = layer[vertex.order + 1];
    return { least: left ? left.x + distance(left, vertex) : -Infinity, most: right ? right.x - distance(vertex, right) : Infinity };
}

function settle(line, room) {
    if (line.length < 2) return;
    const mean = line.reduce((sum, { vertex, shift }) => sum + vertex.x - shift, 0) / line.length, x = Math.max(room.least, Math.min(room.most, mean));
    for (const { vertex, shift } of line) vertex.x = x + shift;
}

function distance(left, right) {
    const gap = left.node && right.node ? NODE_GAP : left.node || right.node ? NODE_GAP * 0.75 : 0;
    return (left.width + right.width) / 2 + gap;
}

function pool(layer, sides) {
    const blocks = [];
    let offset = 0;
    layer.forEach((vertex, i) => {
        if (i) offset += distance(layer[i - 1], vertex);
        let weight = 0, sum = 0;
        for (const side of sides) {
            for (const link of vertex[side]) {
                weight += link.weight;
                sum += link.weight * (link.to.x + link.there - link.here);
            }
        }
        /* Without neighbours on that side a vertex stays where it is, unless it is in the way. */
        if (!weight) {
            weight = 0.01;
            sum = weight * vertex.x;
        }
        vertex.offset = offset;
        let block = { weight, sum: sum - weight * offset, from: i, to: i };
        while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight > block.sum / block.weight) {
            const left = blocks.pop();
            block = { weight: left.weight + block.weight, sum: left.sum + block.sum, from: left.from, to: i };
        }
        blocks.push(block);
    });
    for (const block of blocks) {
        for (let i = block.from; i <= block.to; i++) layer[i].x = block.sum / block.weight + layer[i].offset;
    }
}

/* Runs inside of a report's page, after its scripts: lays out random networks with modules and looks whether nodes
 * overlap, leave their module, or have edges run through them. page.sh appends it and reads the element it leaves. */
(function () {
    "use strict";
    let state = 1;
    const random = (n) => {
        state = (Math.imul(state, 1103515245) + 12345) >>> 0;
        return Math.floor((state / 4294967296) * n);
    };

    /* Values are read soon after they are made, mostly, and modules follow each other; some are entered twice. */
    function network(size, spread, circles) {
        const nodes = [];
        for (let id = 0; id < size; id++) {
            const inputs = id ? [id - 1 - random(Math.min(id, 1 + random(spread)))] : [];
            if (id > 2 && random(3) === 0) inputs.push(random(id));
            const block = circles && random(10) === 0 ? random(4) : Math.floor(id / 9);
            nodes.push({ id, label: "node" + id, name: "n" + id, operator: id ? "aten.add.Tensor" : "input",
                module: id && random(5) ? "stage" + Math.floor(block / 4) + ".block" + block : "",
                where: random(4) ? "npu" : "cpu", partition: 0, inputs, sizes: [1, id], cycles: random(1000) });
        }
        return readReport({ nodes });
    }

    function faults(report, aspect) {
        const root = moduleTree(report), groups = groupsOf(root), open = new Set(groups.filter(() => random(4)).map((group) => group.key));
        const layout = layoutGraph(report, root, open, measureItem, aspect), found = [];
        const solid = layout.items.filter((item) => !item.open), boxes = layout.items.filter((item) => item.open);
        const shown = new Set(solid.map((item) => item.key));
        const meet = (a, b) => a.x < b.x + b.width - 0.5 && b.x < a.x + a.width - 0.5 && a.y < b.y + b.height - 0.5 && b.y < a.y + a.height - 0.5;
        solid.forEach((a, i) => solid.slice(i + 1).forEach((b) => { if (meet(a, b)) found.push(a.key + " lies on " + b.key); }));
        for (const box of boxes) {
            const members = new Set(box.group.nodes.map((node) => "n:" + node.id));
            for (const group of groups) {
                for (let at = group; at; at = at.parent) if (at === box.group) members.add(group.key);
            }
            for (const item of solid) {
                const inside = item.x > box.x - 0.5 && item.y > box.y - 0.5 && item.x + item.width < box.x + box.width + 0.5 && item.y + item.height < box.y + box.height + 0.5;
                if (members.has(item.key) !== inside) found.push(item.key + (inside ? " is inside of " : " is outside of ") + box.key);
            }
        }
        for (const item of layout.items) {
            if (item.x < -0.5 || item.y < -0.5 || item.x + item.width > layout.width + 0.5 || item.y + item.height > layout.height + 0.5) found.push(item.key + " is outside of the picture");
        }
        for (const piece of layout.pieces) {
            if (!/^M[-\d. MLCQ]+$/.test(piece.path)) found.push("a path of " + piece.source + " is " + piece.path);
            if (!shown.has(piece.source) || ![...piece.targets].every((key) => shown.has(key))) found.push("an edge of " + piece.source + " has no end");
            if (piece.back) continue; /* comes back at the side of everything, where columns may lie */
            const points = piece.path.match(/-?[\d.]+ -?[\d.]+/g).map((text) => text.split(" ").map(Number));
            points.slice(1).forEach(([x, y], i) => {
                const [x0, y0] = points[i];
                if (Math.abs(x - x0) > 0.2) return;
                for (const item of solid) {
                    if (item.key === piece.source || piece.targets.has(item.key)) continue;
                    if (x > item.x + 1 && x < item.x + item.width - 1 && Math.min(y, y0) < item.y + item.height - 2 && Math.max(y, y0) > item.y + 2) found.push("an edge of " + piece.source + " runs through " + item.key);
                }
            });
        }
        return found;
    }

    let found = [], networks = 0;
    for (let size = 1; size <= 240; size = Math.ceil(size * 1.3)) {
        for (let spread = 1; spread <= 9; spread += 4) {
            found = found.concat(faults(network(size, spread, spread > 4), 0.6 + random(15) / 10));
            networks++;
        }
    }
    const result = document.createElement("p");
    result.id = "layout-result";
    result.textContent = networks + " networks, " + found.length + " faults" + (found.length ? ": " + found.slice(0, 5).join("; ") : "");
    document.body.append(result);
})();

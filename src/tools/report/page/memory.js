"use strict";
/* Memory over the steps of the program: to the right steps, upwards addresses. Lengths are shares of the chart, so that
 * it fits every width, and paper. */

function memorySection(report) {
    const pools = report.memory.filter((pool) => list(pool.tensors).length);
    if (!pools.length) return null;
    const shown = pools.slice(0, 6), rest = pools.slice(6);
    return section("memory", "Memory", "Steps to the right, addresses upwards. Dashed lines mark the step at which most memory is in use; what is alive then has the stronger colour."
        + (report.summary.strips ? " Computed in " + plural(report.summary.strips, "strip") + " of rows to take less." : "")
        + (isNumber(report.summary.memory_budget_bytes) ? " The budget is " + countText(report.summary.memory_budget_bytes) + " bytes." : ""),
        shown.map((pool) => poolFigure(report, pool)),
        rest.length ? element("details", {}, element("summary", {}, plural(rest.length, "further pool")), rest.map((pool) => poolFigure(report, pool))) : null);
}

/* Bytes in use at each step. A result that lies where its input did shares its bytes, so that lengths do not add up. */
function aliveBySteps(pool, steps) {
    const present = Array.from({ length: steps }, () => []);
    for (const tensor of pool.tensors.slice().sort((a, b) => a.address - b.address)) {
        for (let step = Math.max(0, tensor.first); step <= Math.min(steps - 1, tensor.last); step++) present[step].push(tensor);
    }
    return present.map((tensors) => {
        let bytes = 0, end = 0;
        for (const { address, bytes: size } of tensors) {
            bytes += Math.max(0, address + size - Math.max(address, end));
            end = Math.max(end, address + size);
        }
        return bytes;
    });
}

function poolFigure(report, pool) {
    const steps = Math.max(1, pool.steps || 0, ...pool.tensors.map((tensor) => tensor.last + 1));
    const bytes = Math.max(1, pool.bytes || 0, ...pool.tensors.map((tensor) => tensor.address + tensor.bytes));
    const alive = aliveBySteps(pool, steps), peak = alive.reduce((best, value, i) => value > alive[best] ? i : best, 0);
    const readout = element("p", { class: "readout", role: "status" });
    const tell = (tensor) => {
        readout.replaceChildren(...(tensor ? tensorWords(report, tensor, pool) : [element("span", { class: "quiet" }, "Point at a block, or go to the chart and use arrow keys.")]));
    };
    tell(null);
    const blocks = pool.tensors.map((tensor) => tensorBlock(report, tensor, steps, bytes, peak, pool, tell));
    blocks.forEach((block, i) => { block.tabIndex = i ? -1 : 0; });
    const chart = element("div", { class: "chart", role: "group", "aria-label": "Tensors in " + pool.name }, blocks,
        styled(element("div", { class: "peak", "aria-hidden": "true" }), { left: (100 * peak) / steps + "%", width: 100 / steps + "%" }));
    chart.addEventListener("keydown", (event) => moveInChart(event, pool.tensors, blocks));
    const step = String(pool.step || "step"), optimal = pool.proven ? "proven the least" : isNumber(pool.bound_bytes) ? "at least " + countText(pool.bound_bytes) + " needed" : null;
    return element("figure", { class: "pool" },
        element("figcaption", {}, element("h3", {}, pool.name),
            element("span", {}, element("strong", {}, countText(pool.bytes)), " bytes"), optimal ? element("span", { class: "quiet" }, optimal) : null,
            element("span", { class: "quiet" }, "peak " + countText(alive[peak]) + " bytes at " + step + " " + peak)),
        element("div", { class: "chart-frame" },
            element("div", { class: "axis upward", "aria-hidden": "true" }, element("span", {}, shortCount(bytes)), element("span", {}, shortCount(bytes / 2)), element("span", {}, "0")), chart,
            element("div", { class: "axis across", "aria-hidden": "true" }, element("span", {}, step + " 0"), element("span", {}, String(steps - 1)))),
        readout,
        element("details", {}, element("summary", {}, "as a table"), tensorTable(report, pool)));
}

function tensorText(report, tensor) {
    const node = report.byId.get(tensor.node);
    return String(tensor.label || (node && node.label) || "unnamed");
}

/* Names of values side by side differ at their ends. */
function lastNames(text) {
    return text.match(/[^./]*[./]?[^./]*$/)[0];
}

function tensorWords(report, tensor, pool) {
    return [element("strong", {}, tensorText(report, tensor)), element("span", {}, countText(tensor.bytes) + " bytes"), element("span", {}, "at " + countText(tensor.address)),
        element("span", {}, tensor.first === tensor.last ? (pool.step || "step") + " " + tensor.first : (pool.step || "step") + " " + tensor.first + " to " + tensor.last)];
}

function tensorBlock(report, tensor, steps, bytes, peak, pool, tell) {
    const atPeak = tensor.first <= peak && peak <= tensor.last, node = report.byId.get(tensor.node);
    const block = styled(element("button", {
        type: "button", class: "tensor" + (atPeak ? " at-peak" : ""),
        "aria-label": tensorText(report, tensor) + ", " + countText(tensor.bytes) + " bytes at " + countText(tensor.address) + ", " + (pool.step || "step") + " " + tensor.first + " to " + tensor.last,
        mouseenter: () => tell(tensor), focus: () => tell(tensor), mouseleave: () => tell(null), blur: () => tell(null),
        click: () => { if (node) report.reveal(node.id); },
    }), {
        left: (100 * tensor.first) / steps + "%", width: (100 * (tensor.last - tensor.first + 1)) / steps + "%",
        bottom: (100 * tensor.address) / bytes + "%", height: (100 * tensor.bytes) / bytes + "%",
    });
    /* A name in less than a tenth of the height, or a twelfth of the width, is a cut letter. */
    const length = (tensor.last - tensor.first + 1) / steps;
    if (tensor.bytes * 10 >= bytes && length * 12 >= 1) block.append(element("span", {}, length < 0.25 ? lastNames(tensorText(report, tensor)) : tensorText(report, tensor)));
    return block;
}

/* Left and right by time, up and down by address among what is alive together. */
function moveInChart(event, tensors, blocks) {
    const now = blocks.indexOf(document.activeElement), here = tensors[now];
    if (!here || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    let best = -1, least = Infinity;
    tensors.forEach((tensor, i) => {
        const together = tensor.first <= here.last && here.first <= tensor.last;
        const later = tensor.first - here.first || (tensor.last - here.last), higher = tensor.address - here.address;
        const along = { ArrowRight: later, ArrowLeft: -later, ArrowUp: higher, ArrowDown: -higher }[event.key];
        const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
        if (i === now || along <= 0 || (vertical && !together)) return;
        const cost = along + (vertical ? 0 : Math.abs(higher) * 1e-9);
        if (cost < least) {
            least = cost;
            best = i;
        }
    });
    if (best < 0) return;
    blocks[now].tabIndex = -1;
    blocks[best].tabIndex = 0;
    blocks[best].focus();
}

function tensorTable(report, pool) {
    return sortableTable("Tensors in " + pool.name, [
        { title: "Tensor", cell: (tensor) => report.byId.has(tensor.node) ? nodeLink(report, report.byId.get(tensor.node), tensorText(report, tensor)) : tensorText(report, tensor), value: (tensor) => tensorText(report, tensor), wide: true },
        { title: "Bytes", cell: (tensor) => countText(tensor.bytes), value: (tensor) => tensor.bytes, numeric: true },
        { title: "Address", cell: (tensor) => countText(tensor.address), value: (tensor) => tensor.address, numeric: true },
        { title: "First", cell: (tensor) => countText(tensor.first), value: (tensor) => tensor.first, numeric: true, minor: true },
        { title: "Last", cell: (tensor) => countText(tensor.last), value: (tensor) => tensor.last, numeric: true, minor: true },
    ], pool.tensors, 1);
}

"use strict";
/* How this report was made: command, versions, model, target, and the data themselves. */

function aboutSection(report, text) {
    const { data, model, target, summary } = report;
    const namesWith = (values, text) => element("ul", { class: "plain" }, list(values).map((value) => element("li", {}, element("strong", {}, String(value.name)), " ", element("small", {}, text(value)))));
    const tensorText = (value) => [value.dtype, sizesText(value.sizes), isNumber(value.min) && isNumber(value.max) ? plainNumber(value.min) + " to " + plainNumber(value.max) : ""].filter(Boolean).join("  ");
    const memoryText = (value) => sizeText(value.bytes) + (value.npu_reads === false ? ", not read by the NPU" : "");
    const rest = Object.entries(target).filter(([key, value]) => !["name", "description", "converter_flavor", "clock_hz", "memories"].includes(key) && typeof value !== "object");
    return section("about", "How this was made", null,
        data.invocation ? element("pre", { class: "command", tabindex: 0, "aria-label": "Command" }, String(data.invocation)) : null,
        element("div", { class: "columns" },
            facts([["nucleon", data.nucleon], ["Model", model.file], ["Kind", { pt2: "torch.export archive", tflite: "LiteRT model" }[model.kind] || model.kind],
                list(model.inputs).length ? ["Inputs", namesWith(model.inputs, tensorText)] : null, list(model.outputs).length ? ["Outputs", namesWith(model.outputs, tensorText)] : null]),
            facts([["Target", target.name], ["Chip", target.description], ["Converter flavor", target.converter_flavor],
                isNumber(target.clock_hz) ? ["Clock", trimmed(target.clock_hz / 1e6).replace(/\.0+$/, "") + "\u00a0MHz"] : null,
                list(target.memories).length ? ["Memories", namesWith(target.memories, memoryText)] : null,
                ...rest.map(([key, value]) => [key.replace(/_/g, " "), typeof value === "boolean" ? (value ? "yes" : "no") : isNumber(value) ? countText(value) : value]),
                isNumber(summary.macs) ? ["MACs", countText(summary.macs)] : null])),
        report.partitions.length ? [element("h3", {}, "Partitions"), sortableTable("Partitions", [
            { title: "Partition", cell: (row) => String(row.tag), value: (row) => String(row.tag) },
            { title: "Operators", cell: (row) => countText(row.operators), value: (row) => row.operators, numeric: true },
            { title: "Kernels", cell: (row) => countText(list(row.kernels).length), value: (row) => list(row.kernels).length, numeric: true },
            { title: "Cycles", cell: (row) => countText(row.cycles), value: (row) => row.cycles, numeric: true },
            { title: "Bytes", cell: (row) => countText(row.bytes), value: (row) => row.bytes, numeric: true, minor: true },
            { title: "Scratch", cell: (row) => countText(row.scratch_bytes), value: (row) => row.scratch_bytes, numeric: true, minor: true },
        ], report.partitions)] : null,
        element("p", {}, element("button", { type: "button", class: "button", click: () => download(fileName(model.file).replace(/\.[^.]*$/, "") + ".report.json", text) }, "Download the data as JSON"),
            element("span", { class: "quiet" }, " The older half of a comparison: nucleon report --compare FILE.json")));
}

function download(name, text) {
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const anchor = element("a", { href: address, download: name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

"use strict";
/* What a self-test on a device found, node by node. */

function deviceSection(report) {
    const device = report.data.self_test;
    if (!device) return null;
    const nodes = list(device.nodes), first = device.node === null || device.node === undefined ? null : nodes[device.node];
    const where = (node) => (node.where === "npu" ? "NPU" : "CPU");
    const state = (node) => node.differs ? "differs" : node === first ? "fails" : node.equal ? "equal" : DASH;
    const link = (node) => nodeLink(report, report.nodes.find((one) => node.label === one.label || String(node.label).startsWith(one.label + " + ")), node.label || node.name);
    const columns = [
        { title: "No.", cell: (node) => node.number, value: (node) => node.number },
        { title: "On", cell: where, value: where },
        { title: "Operator or kernel", cell: (node) => node.name, value: (node) => node.name, minor: true },
        { title: "Of", cell: link, value: (node) => String(node.label || ""), wide: true },
        { title: "On the device", cell: (node) => node === first ? element("strong", {}, state(node)) : state(node), value: state },
    ];
    return section("device", "On the device", device.passed ? "PASS: " + device.finding + ", in " + plural(device.test_cases, "test case") + "." : "FAIL: what the device computes is not what the simulator does.",
        device.passed ? null : facts([["Where", first ? [first.number, where(first), first.name, first.label].filter(Boolean).join("  \u00b7  ") : "not known"], ["What", device.finding], ["Usually", device.usually]]),
        nodes.length ? sortableTable("Nodes on the device", columns, nodes) : null);
}

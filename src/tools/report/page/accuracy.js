"use strict";
/* What the program is worth on the data set: measures of every output, confusions, samples. */

const MOST_CLASSES_OF_MATRIX = 24;

function accuracySection(report) {
    const evaluation = report.data.evaluation;
    if (!evaluation) return null;
    const outputs = list(evaluation.outputs), confusion = confusionOf(evaluation, outputs);
    const names = list(evaluation.class_names);
    const className = (index) => names[index] !== undefined ? String(names[index]) : String(index);
    return section("accuracy", "Accuracy", plural(evaluation.samples, "sample") + (evaluation.dataset ? " of " + fileName(evaluation.dataset) : "") + (isNumber(report.summary.reference_accuracy) ? ", compared with labels and the float model." : ", compared with the float model."),
        measuresTable(outputs),
        confusion || list(evaluation.confusions).length ? confusionPart(confusion, wrongDecisions(confusion, evaluation), className) : null,
        list(evaluation.examples).length ? examplesPart(list(evaluation.examples), className) : null);
}

function confusionOf(evaluation, outputs) {
    if (list(evaluation.confusion).length) return evaluation.confusion;
    for (const output of outputs) {
        const program = output.classes && output.classes.program;
        if (program && list(program.confusion).length) return program.confusion;
    }
    return null;
}

function measuresTable(outputs) {
    if (!outputs.length) return null;
    const classes = (output) => output.classes || {}, side = (output, name) => classes(output)[name] || {};
    const against = (output) => output.against_reference || {};
    const columns = [
        { title: "Output", cell: (output) => String(output.name), value: (output) => String(output.name), wide: true },
        { title: "Program", cell: (output) => percentText(side(output, "program").accuracy, 2), value: (output) => side(output, "program").accuracy, numeric: true, any: true },
        { title: "Float", cell: (output) => percentText(side(output, "reference").accuracy, 2), value: (output) => side(output, "reference").accuracy, numeric: true, any: true },
        { title: "Top 5", cell: (output) => percentText(side(output, "program").top_accuracy, 2), value: (output) => side(output, "program").top_accuracy, numeric: true, any: true, minor: true },
        { title: "Mean IoU", cell: (output) => percentText(side(output, "program").mean_iou, 2), value: (output) => output.task === "segment" ? side(output, "program").mean_iou : null, numeric: true, any: true },
        { title: "Agreement", cell: (output) => percentText(classes(output).agreement, 2), value: (output) => classes(output).agreement, numeric: true, any: true },
        { title: "SQNR", cell: (output) => decibelText(against(output).sqnr_db), value: (output) => decibelValue(against(output).sqnr_db), numeric: true, any: true },
        { title: "Mean error", cell: (output) => plainNumber(against(output).mae), value: (output) => against(output).mae, numeric: true, any: true, minor: true },
        { title: "Largest error", cell: (output) => plainNumber(against(output).max_error), value: (output) => against(output).max_error, numeric: true, any: true, minor: true },
    ];
    return sortableTable("Accuracy by output", columns.filter((column) => !column.any || outputs.some((output) => isNumber(column.value(output)) || column.value(output) === Infinity)), outputs);
}

/* From the matrix, or, where there are too many classes for one, from the list of the most frequent. */
function wrongDecisions(confusion, evaluation) {
    if (!confusion) return evaluation.confusions.map(({ label, decision, count }) => ({ label, decision, value: count, share: null }));
    return confusion.flatMap((row, label) => {
        const total = row.reduce((sum, value) => sum + value, 0);
        return row.map((value, decision) => ({ label, decision, value, share: total ? value / total : 0 })).filter((entry) => entry.value && label !== entry.decision);
    });
}

function confusionPart(confusion, wrong, className) {
    const number = wrong.reduce((sum, entry) => sum + entry.value, 0);
    return [element("h3", {}, "Confusion"),
        confusion ? element("p", { class: "lead" }, number ? plural(number, "decision") + " of the program " + (number === 1 ? "is" : "are") + " wrong." : "Every decision of the program is right.") : null,
        confusion && confusion.length <= MOST_CLASSES_OF_MATRIX ? confusionMatrix(confusion, className)
            : wrong.length ? sortableTable("Most frequent confusions", [
                { title: "Label", cell: (entry) => className(entry.label), value: (entry) => className(entry.label), wide: true },
                { title: "Decision", cell: (entry) => className(entry.decision), value: (entry) => className(entry.decision), wide: true },
                { title: "Samples", cell: (entry) => countText(entry.value), value: (entry) => entry.value, numeric: true },
                { title: "Of label", cell: (entry) => percentText(entry.share), value: (entry) => entry.share, numeric: true },
            ], wrong, 2) : null];
}

/* Rows are labels, columns decisions. Depth of colour is the share of the row; the number says it exactly. */
function confusionMatrix(confusion, className) {
    const readout = element("p", { class: "readout", role: "status" }), hint = () => readout.replaceChildren(element("span", { class: "quiet" }, "Rows are labels, columns decisions."));
    hint();
    const cells = [];
    const body = confusion.map((row, label) => {
        const total = row.reduce((sum, value) => sum + value, 0);
        return element("tr", {}, element("th", { scope: "row" }, className(label)), row.map((value, decision) => {
            const share = total ? value / total : 0;
            const tell = () => readout.replaceChildren("Label ", element("strong", {}, className(label)), ", decision ", element("strong", {}, className(decision)), ": ", plural(value, "sample"), ", " + percentText(share));
            const cell = styled(element("td", { tabindex: cells.length ? -1 : 0, class: (label === decision ? "right" : value ? "wrong" : "none") + (share > 0.5 ? " deep" : ""), mouseenter: tell, focus: tell, mouseleave: hint, blur: hint },
                value ? countText(value) : "\u00b7"), { "--share": (100 * Math.sqrt(share)).toFixed(0) + "%" });
            cells.push(cell);
            return cell;
        }));
    });
    const table = element("table", { class: "confusion" }, element("caption", { class: "hidden" }, "Confusion: rows are labels, columns decisions of the program"),
        element("thead", {}, element("tr", {}, element("td"), confusion.map((_, i) => element("th", { scope: "col" }, className(i))))), element("tbody", {}, body));
    table.addEventListener("keydown", (event) => {
        const width = confusion.length, now = cells.indexOf(document.activeElement);
        const next = { ArrowRight: now + 1, ArrowLeft: now - 1, ArrowDown: now + width, ArrowUp: now - width }[event.key];
        if (now < 0 || next === undefined) return;
        event.preventDefault();
        if (!cells[next] || (event.key.match(/Left|Right/) && Math.floor(next / width) !== Math.floor(now / width))) return;
        cells[now].tabIndex = -1;
        cells[next].tabIndex = 0;
        cells[next].focus();
    });
    return [element("div", { class: "table-scroll fitting" }, table), readout];
}

function examplesPart(examples, className) {
    return [element("h3", {}, "Samples"), element("ul", { class: "examples" }, examples.map((example) => {
        const labelled = isNumber(example.label) && example.label >= 0, right = labelled && example.label === example.decision;
        const image = /^data:image\/png;base64,[A-Za-z0-9+/=]*$/.test(example.image || "") ? element("img", { src: example.image, alt: "Sample " + example.sample }) : null;
        return element("li", { class: labelled ? (right ? "right" : "wrong") : "" }, element("figure", {}, image, element("figcaption", {},
            element("span", { class: "verdict" }, labelled ? (right ? "\u2713 " : "\u2717 ") : "", element("strong", {}, isNumber(example.decision) && example.decision >= 0 ? className(example.decision) : "none")),
            labelled && !right ? element("span", {}, "label " + className(example.label)) : null,
            isNumber(example.reference) && example.reference >= 0 && example.reference !== example.decision ? element("span", {}, "float " + className(example.reference)) : null,
            element("span", { class: "quiet" }, "no. " + example.sample))));
    }))];
}

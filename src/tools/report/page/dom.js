"use strict";
/* Elements. Names in a report come from a model's file, which nobody has checked: they reach the document as text and
 * as attribute values only, never as markup. */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/* Sets attributes: functions are listeners of the event named, null and false leave an attribute out, true is an
 * attribute without a value. */
function setAttributes(node, attributes) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (typeof value === "function") node.addEventListener(name, value);
        else if (value === true) node.setAttribute(name, "");
        else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, String(value));
    }
}

function appendAll(node, children) {
    for (const child of children.flat(3)) {
        if (child !== null && child !== undefined && child !== false) node.append(child);
    }
    return node;
}

function element(tag, attributes, ...children) {
    const node = document.createElement(tag);
    setAttributes(node, attributes);
    return appendAll(node, children);
}

function svg(tag, attributes, ...children) {
    const node = document.createElementNS(SVG_NAMESPACE, tag);
    setAttributes(node, attributes);
    return appendAll(node, children);
}

/* Lengths that depend on data are style properties, which a policy without inline style attributes still allows. */
function styled(node, properties) {
    for (const [name, value] of Object.entries(properties)) node.style.setProperty(name, value);
    return node;
}

function reducedMotion() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/* A section of the page. What is said in one line above its content tells what to look for. */
function section(id, title, lead, ...children) {
    return element("section", { id, "aria-labelledby": id + "-title", tabindex: -1 },
        element("div", { class: "section-head" },
            element("h2", { id: id + "-title" }, title),
            lead ? element("p", { class: "lead" }, lead) : null),
        children);
}

/* A choice of one among few, as buttons: arrow keys move as in a group of radio buttons. */
function choice(label, options, chosen, change) {
    const buttons = options.map((option) => element("button", {
        type: "button", role: "radio", class: "segment",
        "aria-checked": option.value === chosen ? "true" : "false", tabindex: option.value === chosen ? 0 : -1,
        click: () => choose(option.value, false),
    }, option.title));
    function choose(value, focus) {
        options.forEach((option, i) => {
            const is = option.value === value;
            buttons[i].setAttribute("aria-checked", is ? "true" : "false");
            buttons[i].tabIndex = is ? 0 : -1;
            if (is && focus) buttons[i].focus();
        });
        change(value);
    }
    function key(event) {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const now = buttons.indexOf(document.activeElement);
        choose(options[(now + step + options.length) % options.length].value, true);
    }
    return element("div", { class: "segments", role: "radiogroup", "aria-label": label, keydown: key }, buttons);
}

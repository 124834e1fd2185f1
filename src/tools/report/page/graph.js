"use strict";
/* The section of the graph: window, tools, search, details. */

/* A network of so many operators is shown as it is; of a larger one, modules are open as long as few items are seen. */
const SMALL_NETWORK = 60;
const MOST_AT_FIRST = 40;

function graphSection(report) {
    if (!report.nodes.length) return section("graph", "Graph", null, element("p", { class: "empty" }, "The report has no operators."));
    const root = moduleTree(report);
    let view = null;
    view = createGraphView(report, root, (item) => describeItem(report, view, item));
    view.open = openAtFirst(report, root);
    const panel = element("div", { class: "graph-panel", tabindex: -1, role: "region", "aria-label": "Selected operator" });
    const spoken = element("div", { class: "hidden", "aria-live": "polite" });
    const frame = element("div", { class: "graph-frame" });
    const actions = graphActions(report, view, panel, spoken, frame);
    const search = searchField(report, view, actions);
    actions.search = () => search.input.focus();
    frame.append(toolbar(view, actions, search, root), element("div", { class: "graph-body" },
        element("div", { class: "graph-window" }, view.surface,
            element("p", { class: "graph-keys", id: "graph-keys" }, element("kbd", {}, "\u2191 \u2193"), " along the data ", element("kbd", {}, "\u2190 \u2192"),
                " beside ", element("kbd", {}, "Enter"), " open ", element("kbd", {}, "+ \u2212 F"), " zoom, fit ", element("kbd", {}, "/"), " search")),
        panel), spoken);
    attachPointer(view, actions);
    attachKeys(view, actions);
    attachWindow(view, actions);
    report.reveal = (id) => actions.reveal(id, true);
    showDetails(report, view, panel, actions);
    const kinds = Object.keys(PLACEMENTS).filter((kind) => report.nodes.some((node) => placementOf(node) === kind));
    return section("graph", "Graph", "Where every operator runs. Data flow downwards, column by column; dashed edges go from one processor or partition to another.",
        graphLegend(kinds, report.worstError > 0), frame);
}

/* Modules of one depth are open or closed together, so that what is alike looks alike. */
function openAtFirst(report, root) {
    const groups = groupsOf(root);
    if (report.nodes.length <= SMALL_NETWORK) return new Set(groups.map((group) => group.key));
    const open = new Set();
    let shown = root.items.length, level = groups.filter((group) => group.parent === root);
    while (level.length) {
        shown += level.reduce((sum, group) => sum + group.items.length - 1, 0);
        if (shown > MOST_AT_FIRST) break;
        for (const group of level) open.add(group.key);
        level = groups.filter((group) => level.includes(group.parent));
    }
    return open;
}

function graphActions(report, view, panel, spoken, frame) {
    const actions = {
        select(key) {
            view.selected = key;
            if (key) bringIntoView(view, key, false);
            view.draw();
            showDetails(report, view, panel, actions);
            const item = key && view.byKey.get(key);
            spoken.textContent = item ? describeItem(report, view, item) : "";
        },
        toggle(key) {
            if (view.open.has(key)) view.open.delete(key);
            else view.open.add(key);
            relayout(view, key);
            view.selected = key;
            view.drawNow();
            actions.select(key);
        },
        openAll(all) {
            view.open = new Set(all ? groupsOf(view.root).map((group) => group.key) : []);
            relayout(view, null);
            if (!view.byKey.has(view.selected)) actions.select(null);
            fit(view, false);
        },
        reveal(id, focus) {
            const node = report.byId.get(id);
            if (!node) return;
            let changed = false;
            for (let group = node.group; group && group.parent; group = group.parent) {
                changed = changed || !view.open.has(group.key);
                view.open.add(group.key);
            }
            if (changed) relayout(view, null);
            view.selected = "n:" + id;
            bringIntoView(view, view.selected, true);
            actions.select(view.selected);
            if (!focus) return;
            frame.scrollIntoView({ block: "start", behavior: reducedMotion() ? "auto" : "smooth" });
            view.surface.focus({ preventScroll: true });
        },
        details() {
            panel.focus();
        },
        escape() {
            if (frame.classList.contains("large")) actions.large(false);
            else actions.select(null);
        },
        large(on) {
            frame.classList.toggle("large", on);
            document.body.classList.toggle("no-scroll", on);
            actions.sized();
            fit(view, view.scale < FAR);
        },
        sized() {},
        search() {},
    };
    return actions;
}

function showDetails(report, view, panel, actions) {
    const item = view.selected && view.byKey.get(view.selected);
    panel.replaceChildren();
    if (!item) {
        panel.append(element("p", { class: "hint" }, "Select an operator or module to see all about it."));
        return;
    }
    appendAll(panel, item.group ? groupDetails(report, item.group, item.open, () => actions.toggle(item.key)) : nodeDetails(report, item.node));
    panel.scrollTop = 0;
}

function toolbar(view, actions, search, root) {
    const button = (text, title, act, extra) => element("button", { type: "button", class: "button", title, "aria-label": title, click: act, ...extra }, text);
    const zoom = (factor) => () => {
        const size = view.size();
        setScale(view, view.scale * factor, size.width / 2, size.height / 2);
    };
    const large = button("\u2922", "Fill the window", () => actions.large(!view.surface.closest(".graph-frame").classList.contains("large")));
    const modules = groupsOf(root).length > 0, errors = view.report.worstError > 0;
    const show = (value) => {
        view.shows = value;
        relayout(view, view.selected);
        view.draw();
    };
    return element("div", { class: "toolbar", role: "toolbar", "aria-label": "Graph" }, search.field,
        element("div", { class: "tools first" },
            errors ? choice("Bars show", [{ value: "cycles", title: "Cycles" }, { value: "error", title: "Error" }], "cycles", show) : null,
            modules ? [button("Open all", "Open all modules", () => actions.openAll(true)), button("Close all", "Close all modules", () => actions.openAll(false))] : null),
        element("div", { class: "tools" }, button("\u2212", "Zoom out", zoom(0.8)), button("+", "Zoom in", zoom(1.25)), button("Fit", "Fit the graph into the window", () => fit(view, true)), large));
}

/* ---- search ---- */

function searchField(report, view, actions) {
    let hits = [], at = -1;
    const count = element("span", { class: "search-count", role: "status" });
    const input = element("input", { type: "search", placeholder: "Search operators", "aria-label": "Search operators by name, kind, module or source line", spellcheck: "false", autocomplete: "off" });
    const say = () => { count.textContent = !input.value.trim() ? "" : hits.length ? at + 1 + " of " + countText(hits.length) : "none"; };
    const go = (step) => {
        if (!hits.length) return;
        at = (at + step + hits.length) % hits.length;
        actions.reveal(hits[at].id, false);
        markFound();
        say();
    };
    const markFound = () => {
        view.found = new Set();
        for (const node of hits) {
            view.found.add("n:" + node.id);
            for (let group = node.group; group && group.parent; group = group.parent) if (!view.open.has(group.key)) view.found.add(group.key);
        }
        view.draw();
    };
    input.addEventListener("input", () => {
        hits = matching(report, input.value);
        at = -1;
        markFound();
        say();
        if (hits.length && hits.length <= 200) go(1);
    });
    input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape" && !input.value) view.surface.focus({ preventScroll: true });
        else return;
        event.preventDefault();
    });
    return { input, field: element("div", { class: "search" }, input, count) };
}

/* Nodes that hold every word somewhere in what names them. */
function matching(report, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return report.nodes.filter((node) => {
        const all = [node.label, node.name, node.operator, node.module, sourceText(node), PLACEMENTS[placementOf(node)].text].join(" ").toLowerCase();
        return words.every((word) => all.includes(word));
    });
}

/* ---- window and paper ---- */

function attachWindow(view, actions) {
    let width = 0, started = false;
    actions.sized = () => {
        const size = view.size();
        if (!view.surface.isConnected || size.width === width) return;
        width = size.width;
        if (!started) {
            started = true;
            relayout(view, null);
            fit(view, false);
        }
        view.draw();
    };
    new ResizeObserver(() => {
        actions.sized();
        view.draw();
    }).observe(view.surface);
    addEventListener("beforeprint", () => {
        if (!view.layout) actions.sized();
        view.whole = true;
        view.surface.setAttribute("viewBox", "-8 -8 " + (view.layout.width + 16).toFixed(0) + " " + (view.layout.height + 16).toFixed(0));
        view.drawNow();
    });
    addEventListener("afterprint", () => {
        view.whole = false;
        view.surface.removeAttribute("viewBox");
        view.drawNow();
    });
}

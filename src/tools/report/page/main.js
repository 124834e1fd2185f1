"use strict";
/* Puts the page together. This script comes last; the others define, in any order, what it uses. */

function start() {
    const page = document.getElementById("page"), text = document.getElementById("report").textContent;
    let report = null;
    try {
        report = readReport(JSON.parse(text));
    } catch (problem) {
        page.append(element("main", { id: "main" }, element("p", { class: "notice" }, "The data of this report cannot be read: " + problem.message)));
        return;
    }
    report.reveal = () => {};
    document.title = fileName(report.model.file) + " \u2013 nucleon report";
    const parts = [
        ["Device", deviceSection], ["Comparison", compareSection], ["Graph", graphSection], ["On the CPU", onCpuSection], ["Cycles", cyclesSection],
        ["Memory", memorySection], ["Error", errorsSection], ["Accuracy", accuracySection], ["About", (one) => aboutSection(one, text)],
    ].map(([title, make]) => [title, makePart(title, make, report)]).filter(([, part]) => part);
    page.append(overview(report), navigation(parts), element("main", { id: "main", tabindex: -1 }, parts.map(([, part]) => part)));
    addEventListener("beforeprint", () => openDetails(true));
    addEventListener("afterprint", () => openDetails(false));
}

/* A part that cannot be drawn leaves the others standing, and says so. */
function makePart(title, make, report) {
    try {
        return make(report);
    } catch (problem) {
        console.error(problem);
        return section("failed-" + title.toLowerCase().replace(/\W/g, "-"), title, null, element("p", { class: "notice" }, "This part cannot be drawn: " + problem.message));
    }
}

function navigation(parts) {
    const links = parts.map(([title, part]) => element("a", { href: "#" + part.id }, title));
    const mark = (id) => links.forEach((link) => {
        if (link.hash === "#" + id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
    });
    const inView = new Map();
    const watcher = new IntersectionObserver((entries) => {
        for (const entry of entries) inView.set(entry.target.id, entry.isIntersecting);
        const first = parts.find(([, part]) => inView.get(part.id));
        if (first) mark(first[1].id);
    }, { rootMargin: "-64px 0px -60% 0px" });
    for (const [, part] of parts) watcher.observe(part);
    return element("nav", { class: "sections", "aria-label": "Sections" }, element("div", {}, links));
}

/* Paper has no way to open anything. */
function openDetails(printing) {
    for (const one of document.querySelectorAll("details")) {
        if (printing) {
            one.dataset.wasOpen = one.open ? "yes" : "no";
            one.open = true;
        } else if (one.dataset.wasOpen) {
            one.open = one.dataset.wasOpen === "yes";
            delete one.dataset.wasOpen;
        }
    }
}

start();

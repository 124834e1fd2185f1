"use strict";
/* Tables that sort by every column. Rows follow one another by arrow keys, so that the whole table is one stop of Tab. */

const ROWS_AT_FIRST = 25;
const ROWS_PREPARED = 400; /* hidden on the screen at first, printed on paper */

/* columns: { title, cell(row) -> text or element, value(row) -> what sorts (left out: the column does not), numeric,
 * minor: left out where the page is narrow }. sorted: index of the column to sort by at first, descending. */
function sortableTable(caption, columns, rows, sorted) {
    let by = sorted === undefined ? -1 : sorted, descending = true, shown = ROWS_AT_FIRST;
    const body = element("tbody"), head = element("tr"), more = element("button", { type: "button", class: "button more" });
    const order = () => by < 0 ? rows : rows.slice().sort((a, b) => compareValues(columns[by].value(a), columns[by].value(b), descending));
    const cellClass = (column) => [column.numeric ? "numeric" : "", column.minor ? "minor" : "", column.wide ? "wide" : ""].join(" ").trim() || null;

    function fill() {
        const all = order();
        body.replaceChildren(...all.slice(0, Math.max(shown, ROWS_PREPARED)).map((row, i) => element("tr", { class: i >= shown ? "beyond" : null },
            columns.map((column, c) => element(c === 0 ? "th" : "td", { scope: c === 0 ? "row" : null, class: cellClass(column) }, column.cell(row))))));
        body.querySelectorAll("button.link").forEach((button, i) => { button.tabIndex = i ? -1 : 0; });
        more.hidden = all.length <= ROWS_AT_FIRST;
        more.textContent = shown > ROWS_AT_FIRST ? "Show the first " + ROWS_AT_FIRST : "Show all " + countText(all.length);
        more.setAttribute("aria-expanded", shown > ROWS_AT_FIRST ? "true" : "false");
    }
    function sort(index) {
        descending = by === index ? !descending : Boolean(columns[index].numeric);
        by = index;
        drawHead();
        fill();
        head.children[index].querySelector("button").focus();
    }
    function drawHead() {
        head.replaceChildren(...columns.map((column, c) => element("th", {
            scope: "col", class: cellClass(column), "aria-sort": c === by ? (descending ? "descending" : "ascending") : null,
        }, column.value ? [element("button", { type: "button", class: "sort", click: () => sort(c) }, column.title, element("span", { class: "direction", "aria-hidden": "true" }, c === by ? (descending ? "\u2193" : "\u2191") : "\u2195")), element("span", { class: "on-paper" }, column.title)]
            : column.title)));
    }
    more.addEventListener("click", () => {
        shown = shown > ROWS_AT_FIRST ? ROWS_AT_FIRST : Infinity;
        fill();
    });
    body.addEventListener("keydown", (event) => moveInRows(event, body));
    drawHead();
    fill();
    return element("div", { class: "table-block" },
        element("div", { class: "table-scroll" }, element("table", {}, element("caption", { class: "hidden" }, caption), element("thead", {}, head), body)), more);
}

/* What is not known comes last, however the rest is sorted. */
function compareValues(a, b, descending) {
    const none = (value) => value === null || value === undefined || value === "";
    if (none(a) || none(b)) return none(a) - none(b);
    const order = typeof a === "number" && typeof b === "number" ? (a < b ? -1 : a > b ? 1 : 0) : String(a).localeCompare(String(b), "en", { numeric: true });
    return descending ? -order : order;
}

function moveInRows(event, body) {
    const buttons = [...body.querySelectorAll("tr:not(.beyond) th button.link")], now = buttons.indexOf(document.activeElement);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (now < 0 || next === undefined) return;
    event.preventDefault();
    const button = buttons[Math.max(0, Math.min(buttons.length - 1, next))];
    buttons[now].tabIndex = -1;
    button.tabIndex = 0;
    button.focus();
}

/* A length beside a number. Placement shows by pattern, too. */
function bar(share, kind) {
    const length = Math.max(0, Math.min(1, share || 0));
    return element("div", { class: "bar", "aria-hidden": "true" }, length ? styled(element("div", { class: "fill " + (kind || "") }), { width: "max(2px, " + (100 * length).toFixed(2) + "%)" }) : null);
}

"use strict";
/* Numbers as people read them. Every unit is written one way on the whole page; the locale is fixed, so that two people
 * who look at one file see one text. */

const DASH = "\u2013"; /* what is not known */
const NUMBER = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function isNumber(value) {
    return typeof value === "number" && Number.isFinite(value);
}

function countText(value) {
    return isNumber(value) ? NUMBER.format(value) : DASH;
}

function plural(value, one, many) {
    return countText(value) + "\u00a0" + (value === 1 ? one : many || one + "s");
}

/* Three significant digits with a decimal prefix: 5.93k, 12.4M. For places where a column does not align. */
function shortCount(value) {
    if (!isNumber(value)) return DASH;
    for (const [size, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
        if (Math.abs(value) >= size) return trimmed(value / size) + prefix;
    }
    return String(Math.round(value));
}

function trimmed(value) {
    const magnitude = Math.abs(value);
    return value.toFixed(magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2);
}

/* [number, unit], so that the unit can be set smaller than the number. */
function durationParts(us) {
    if (!isNumber(us)) return [DASH, ""];
    if (us >= 999.5e3) return [trimmed(us / 1e6), "s"];
    if (us >= 999.5) return [trimmed(us / 1000), "ms"];
    return [us >= 100 ? us.toFixed(0) : trimmed(us), "\u00b5s"];
}

/* Decimal prefixes, as the command line takes and prints sizes. */
function sizeParts(bytes) {
    if (!isNumber(bytes)) return [DASH, ""];
    if (bytes >= 1e6) return [trimmed(bytes / 1e6), "MB"];
    if (bytes >= 1e4) return [trimmed(bytes / 1e3), "kB"];
    return [countText(bytes), bytes === 1 ? "byte" : "bytes"];
}

function joined(parts) {
    return parts[1] ? parts[0] + "\u00a0" + parts[1] : parts[0];
}

function durationText(us) {
    return joined(durationParts(us));
}

function sizeText(bytes) {
    return joined(sizeParts(bytes));
}

/* Decibels are numbers, or one of the texts for infinities. */
function decibelValue(value) {
    if (isNumber(value)) return value;
    if (typeof value !== "string") return null;
    return /^-/.test(value) ? -Infinity : Infinity;
}

function decibelParts(value) {
    const db = decibelValue(value);
    if (db === null) return [DASH, ""];
    if (db === Infinity) return ["exact", ""];
    if (db === -Infinity) return ["none", ""];
    return [db.toFixed(1), "dB"];
}

function decibelText(value) {
    return joined(decibelParts(value));
}

/* Root mean square of the error as a share of the signal's, what decibels stand for. */
function relativeError(value) {
    const db = decibelValue(value);
    return db === null ? null : db === Infinity ? 0 : Math.pow(10, -db / 20);
}

function percentText(share, digits) {
    return isNumber(share) ? (100 * share).toFixed(digits === undefined ? 1 : digits) + "\u00a0%" : DASH;
}

function sizesText(sizes) {
    if (!Array.isArray(sizes)) return "";
    return sizes.length ? sizes.join("\u00d7") : "scalar";
}

/* A number of a model, such as a scale: as many digits as tell it apart, no more. */
function plainNumber(value) {
    return isNumber(value) ? String(Number(value.toPrecision(6))) : DASH;
}

function signedCount(value) {
    if (!isNumber(value)) return DASH;
    return (value > 0 ? "+" : value < 0 ? "\u2212" : "") + NUMBER.format(Math.abs(value));
}

/* "aten.conv2d.default" is "conv2d" where room is short, and so is the variant that writes in place. */
function operatorText(operator) {
    const parts = String(operator || "").split(/\.|::/);
    return (parts[1] || parts[0]).replace(/(.)_$/, "$1");
}

/* The file's name without folders: the path is in the details. */
function sourceText(node) {
    if (!node.file) return "";
    return node.file.replace(/^.*[/\\]/, "") + (node.line ? ":" + node.line : "");
}

"""Outputs and figures of pages next to what is printed."""

import difflib
import re

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"

# What may differ from machine to machine. "near" is no text: numbers may differ by a tenth.
MASKS = {
    "time": (r"\b\d+(?:\.\d+)? ?(?:s|seconds)\b|\b\d+\.\d+$", "TIME"),
    "path": (r"(?<![\w.*])/(?:[\w.+-]+/)*[\w.+-]+", "PATH"),
    "version": (r"\b\d+\.\d+(?:\.\d+)+\b", "VERSION"),
}


def value(number):
    return float(number.replace(",", ""))


def is_near(shown, actual):
    return abs(shown - actual) <= 0.1 * max(abs(shown), abs(actual))


def same_number(shown, actual, near=False):
    """Is the number on a page the one that was printed, rounded to the digits on the page?"""
    if near:
        return is_near(value(shown), value(actual))
    digits = len(shown.partition(".")[2])
    half = 0.5 * 10**-digits if digits < len(actual.partition(".")[2]) else 0
    return abs(value(shown) - value(actual)) <= half * (1 + 1e-9)


def as_shown(shown, actual):
    """The number that was printed in the form that the page has."""
    digits = len(shown.partition(".")[2])
    sign = "+" if shown.startswith("+") and value(actual) >= 0 else ""
    commas = "," in shown or abs(value(shown)) < 1000
    return sign + format(value(actual), f"{',' if commas else ''}.{digits}f")


def same_line(shown, actual, masks):
    shown, actual = shown.rstrip(), actual.rstrip()
    for mask in masks:
        if mask in MASKS:
            shown, actual = (re.sub(MASKS[mask][0], MASKS[mask][1], text) for text in (shown, actual))
            if mask == "time":
                shown, actual = (re.sub(" +", " ", text) for text in (shown, actual))
    if shown == actual:
        return True
    if "near" not in masks:
        return False
    numbers = re.findall(NUMBER, shown), re.findall(NUMBER, actual)
    words = [re.sub(r"\s+", " ", re.sub(NUMBER, "#", text)) for text in (shown, actual)]
    return words[0] == words[1] and all(is_near(value(a), value(b)) for a, b in zip(*numbers))


def difference(shown, actual, masks):
    """Where the lines of a page and those printed differ: (index of the line shown, line printed or None), or None. A
    line '...' on the page stands for any lines."""
    at = 0
    skipping = False
    for i, line in enumerate(shown):
        if line.strip() == "...":
            skipping = True
            continue
        start = at
        if skipping:
            rest = [other for other in shown[i:] if other.strip() != "..."]
            ends_here = "..." not in [other.strip() for other in shown[i:]]
            if ends_here and len(actual) - len(rest) >= at:
                at = len(actual) - len(rest)
            else:
                while at < len(actual) and not same_line(line, actual[at], masks):
                    at += 1
        if at >= len(actual):
            return i, actual[start] if skipping and start < len(actual) else None
        if not same_line(line, actual[at], masks):
            return i, actual[at]
        at += 1
        skipping = False
    if at < len(actual) and not skipping:
        return len(shown), actual[at]
    return None


def updated(shown, actual):
    """The lines for the page: all that was printed, or as many at the start and the end as the page has around '...'."""
    dots = [i for i, line in enumerate(shown) if line.strip() == "..."]
    if len(dots) == 1:
        tail = len(shown) - dots[0] - 1
        return actual[: dots[0]] + ["..."] + (actual[-tail:] if tail else [])
    return actual


def closest(line, printed):
    """The printed line that is most like one of the page, or None."""
    matches = difflib.get_close_matches(line, printed, 1, 0.5)
    return matches[0] if matches else None


def compare_prints(block, printed, masks):
    """Lines that are not among those printed, in their order: (line, shown, what is there instead or None)."""
    at = 0
    for i, line in enumerate(block.lines):
        if line.strip() in ("", "..."):
            continue
        for later in range(at, len(printed)):
            if same_line(line.strip(), printed[later].strip(), masks):
                at = later + 1
                break
        else:
            instead = closest(line.strip(), [other.strip() for other in printed])
            yield block.line + i, line, instead and line[: len(line) - len(line.lstrip())] + instead


def replace_numbers(text, replacements):
    """The text with numbers at places (start, end) replaced."""
    for (start, end), new in sorted(replacements, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def compare_rows(table_rows, printed, near):
    """Rows of a table with other numbers than the lines printed: (line, row, row as it should be or None)."""
    for i, (line, row) in enumerate(table_rows):
        if i >= len(printed):
            yield line, row, None
            continue
        first = row.index("|", 1) if "|" in row[1:] else 0
        places = [(m.span(), m[0]) for m in re.finditer(NUMBER, row) if m.start() > first]
        numbers = re.findall(NUMBER, printed[i])
        if len(places) != len(numbers):
            yield line, row, f"{len(numbers)} numbers: {printed[i]}"
            continue
        wrong = [(span, as_shown(shown, new)) for (span, shown), new in zip(places, numbers)
                 if not same_number(shown, new, near)]
        if wrong:
            yield line, row, replace_numbers(row, wrong)
    if len(printed) > len(table_rows) and table_rows:
        yield table_rows[-1][0], "the last row", "a row more: " + printed[len(table_rows)]


def compare_says(block, patterns, words, near):
    """Patterns that the text does not have with the numbers printed: (line, pattern, wrong numbers as replacements of the
    block's text, what was printed)."""
    text = "\n".join(block.lines)
    at = 0
    for pattern in patterns:
        holes = pattern.count("{}")
        mine, at = words[at : at + holes], at + holes
        parts = [r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in pattern.split("{}")]
        found = re.search(f"({NUMBER})".join(parts), text)
        if not found or len(mine) < holes:
            yield block.line, pattern, None, " ".join(mine) if found is None else "too few numbers: " + " ".join(mine)
            continue
        wrong = [(found.span(i + 1), as_shown(found[i + 1], word)) for i, word in enumerate(mine)
                 if not re.fullmatch(NUMBER, word) or not same_number(found[i + 1], word, near)]
        if wrong:
            line = block.line + text.count("\n", 0, found.start())
            yield line, re.sub(r"\s+", " ", found[0]), wrong, " ".join(mine)


def constants(block):
    """The numbers of a block as the sources may write them, with their lines; of a table without its first column."""
    for i, line in enumerate(block.lines):
        if block.kind == "table" and i < 2:
            continue
        start = line.index("|", 1) if block.kind == "table" and "|" in line[1:] else 0
        for number in re.findall(r"(?<![\w.^-])\d[\d,]*(?:\.\d+)?(?![\w^])", re.sub(r"\[[^\]]*\]\([^)]*\)", "", line[start:])):
            yield block.line + i, number, number.rstrip(",").replace(",", "")

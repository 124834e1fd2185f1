"""Outputs and figures of pages next to what is printed."""

import difflib
import re

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"

# What may differ from machine to machine. "near" is no text: numbers may differ by a quarter, as
# instructions do between gcc 12 and 14.
MASKS = {
    "time": (r"\b\d+(?:\.\d+)? per second\b|\b\d+(?:\.\d+)? ?(?:s|seconds)\b|\b\d+\.\d+$", "TIME"),
    "path": (r"(?<![\w.*])/(?:[\w.+-]+/)*[\w.+-]+", "PATH"),
    "version": (r"\b\d+\.\d+(?:\.\d+)+\b", "VERSION"),
}


def value(number):
    return float(number.replace(",", ""))


def is_near(shown, actual):
    return abs(shown - actual) <= 0.25 * max(abs(shown), abs(actual))


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
    """The lines for the page: what was printed, with '...' where the page has it. Between two of these stand as many lines
    as before, from the line on that is like the first one but for its numbers."""
    pieces, at, new = [[]], 0, []
    for line in shown:
        if line.strip() == "...":
            pieces.append([])
        else:
            pieces[-1].append(line)
    if len(pieces) == 1:
        return actual
    for i, piece in enumerate(pieces):
        if i == len(pieces) - 1:
            at = max(at, len(actual) - len(piece))
        elif i > 0 and piece:
            like = [re.sub(NUMBER, "#", re.sub(r"\s+", " ", line)) for line in [piece[0]] + actual[at:]]
            at += like[1:].index(like[0]) if like[0] in like[1:] else 0
        new += (["..."] if i else []) + actual[at : at + len(piece)]
        at += len(piece)
    return new


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


def second_column(row):
    """Where the first column of a row ends."""
    return re.match(r"\s*\|(?:\\\||[^|])*", row).end()


def compare_rows(table_rows, printed, near):
    """Rows of a table with other numbers than the lines printed: (line, row, row as it should be or None)."""
    for i, (line, row) in enumerate(table_rows):
        if i >= len(printed):
            yield line, row, None
            continue
        first = second_column(row)
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
        start = second_column(line) if block.kind == "table" else 0
        for number in re.findall(r"(?<![\w.^-])\d[\d,]*(?:\.\d+)?(?![\w^])", re.sub(r"\[[^\]]*\]\([^)]*\)", "", line[start:])):
            yield block.line + i, number, number.rstrip(",").replace(",", "")


def tokens(text):
    """The numbers of sources: as they stand, products, numbers that are shifted, thousands of a unit as ones of the next."""
    found = set(re.findall(r"\d+(?:\.\d+)?", text))
    found |= {str(int(a) * int(b)) for a, b in re.findall(r"\b(\d+) \* (\d+)\b", text)}
    found |= {str(int(a) << int(b)) for a, b in re.findall(r"\b(\d+)u?\)? ?<< ?(\d+)\b", text) if int(b) < 64}
    found |= {token[:-3] for token in found if token.endswith("000")}
    found |= {token.rstrip("0").rstrip(".") for token in found if "." in token}
    return found


UNIT = r"(?:dB|ms|us|%|bytes|KB|KiB|MB|MiB|cycles|instructions|cases|networks|GMAC/s)"
PRECISE = {"dB", "ms", "us", "%", "KB", "GMAC/s"}
SOURCES = {"rows", "says", "constants", "figures", "prints", "source"}


def unmarked(block):
    """Figures of a table or a text without a mark that says where they are from: (line, figure)."""
    if SOURCES & {mark.word for mark in block.marks}:
        return
    if block.kind == "table":
        columns = [re.split(r"(?<!\\)\|", row.strip().strip("|"))[1:] for row in block.lines[2:]]
        numbers = [cell.strip() for row in columns for cell in row
                   if re.fullmatch(rf"\**[-+]?\d[\d,.]*\d( ?{UNIT})?\**", cell.strip())]
        if len(numbers) >= 2:
            yield block.line, f"the table with {numbers[0]}, {numbers[1]}"
    elif block.kind == "text":
        text = re.sub(r"`[^`]*`", lambda span: re.sub(r"[^\n]", "`", span[0]), "\n".join(block.lines))
        for found in re.finditer(rf"(?<![\w^.])(\d[\d,]*(?:\.\d+)?)\s+({UNIT})(?!\w)", text):
            if found[2] in PRECISE or len(found[1]) > 1:
                yield block.line + text.count("\n", 0, found.start()), re.sub(r"\s+", " ", found[0])

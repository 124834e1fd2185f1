"""A Markdown page as the checks see it: headings, links, code spans, fenced blocks, tables, paragraphs, and the marks
in front of them. docs/contributing/documentation.md describes the marks."""

import re

MARKS = {
    "setup": "commands, one a line, that prepare the folder of the page",
    "run": "run the commands of the block though it shows no output",
    "parse": "look at the commands of the block, do not run them; the rest of the line says why",
    "needs": "run the block only where these programs, files or Python modules are",
    "mask": "what of an output may vary: time, near, path, version",
    "exit": "the exit code of the last command of the block",
    "output": "the block is what the block of commands or of Python in front of it prints",
    "prints": "the lines of the block are lines of what the command prints, in their order",
    "rows": "each line of the command is a row of the table: its numbers, the first column left out",
    "says": "the command prints the numbers that stand for {} in the pattern below it",
    "constants": "the numbers of the block are in these files",
    "source": "the figures of the block are of others, or of no command: a paper, a decision; the rest of the line says it",
    "figures": "the figures of the block are of this command, which the suite does not run",
}


class Mark:
    """A comment <!-- check: WORD ... -->, or one of its lines where it has several."""

    def __init__(self, word, text, line):
        self.word, self.text, self.line = word, text, line


class Block:
    """kind: heading, fence, table, text. line: of its first line, from 1. lines: without the fences."""

    def __init__(self, kind, line, lines, info="", indent=0):
        self.kind, self.line, self.lines, self.info, self.indent = kind, line, lines, info, indent
        self.marks = []

    def mark(self, word):
        for mark in self.marks:
            if mark.word == word:
                return mark
        return None


class Page:
    def __init__(self, name, text):
        self.name, self.text = name, text
        self.blocks, self.errors = [], []
        self._parse(text.split("\n"))

    def error(self, line, text):
        self.errors.append((self.name, line, text))

    def _parse(self, lines):
        marks, at = [], 0
        while at < len(lines):
            line = lines[at]
            bare = line.strip()
            if not bare:
                at += 1
            elif bare.startswith("<!--"):
                end = at
                while end < len(lines) and "-->" not in lines[end]:
                    end += 1
                if end == len(lines):
                    self.error(at + 1, "a comment without its -->")
                    return
                comment = "\n".join(lines[at : end + 1]).strip()
                marks += self._marks(comment[4 : comment.index("-->")], at + 1)
                at = end + 1
            else:
                block, at = self._block(lines, at)
                block.marks, marks = marks, []
                self.blocks.append(block)
        if marks:
            block = Block("text", marks[0].line, [])
            block.marks = marks
            self.blocks.append(block)

    def _marks(self, text, line):
        head, _, body = text.strip().partition("\n")
        if not head.startswith("check:"):
            return []
        word, _, rest = head[len("check:") :].strip().partition(" ")
        if word not in MARKS:
            self.error(line, f"unknown mark '{word}': the marks are {', '.join(MARKS)}")
            return []
        return [Mark(word, (rest.strip() + ("\n" + body if body else "")).strip(), line)]

    def _block(self, lines, at):
        line = lines[at]
        fence = re.match(r"( *)(```+)(.*)", line)
        if fence:
            end = at + 1
            while end < len(lines) and lines[end].strip() != fence[2]:
                end += 1
            if end == len(lines):
                self.error(at + 1, "a block of code without its end")
            indent = len(fence[1])
            body = [text[indent:] if text[:indent].isspace() or not indent else text for text in lines[at + 1 : end]]
            return Block("fence", at + 2, body, fence[3].strip(), indent), end + 1
        if re.match(r"#{1,6} ", line):
            return Block("heading", at + 1, [line]), at + 1
        end = at
        table = line.lstrip().startswith("|")
        while end < len(lines) and lines[end].strip():
            text = lines[end].lstrip()
            if end > at and (text.startswith(("<!--", "```")) or re.match(r"#{1,6} ", text)):
                break
            if end > at and text.startswith("|") != table:
                break
            end += 1
        return Block("table" if table else "text", at + 1, lines[at:end]), end

    def anchors(self):
        """The anchors of the headings, by GitHub's rule: lower case, signs left out, blanks to '-'; -1, -2 for repeats."""
        seen, found = {}, set()
        for block in self.blocks:
            if block.kind != "heading":
                continue
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", block.lines[0].lstrip("#").strip())
            slug = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
        return found

    def prose(self):
        """Lines outside of fenced blocks, with their numbers."""
        for block in self.blocks:
            if block.kind != "fence":
                for number, line in enumerate(block.lines, block.line):
                    yield block, number, line

    def spans(self):
        """Code spans with the numbers of their lines; one may go on in the next line."""
        for block in self.blocks:
            if block.kind == "fence":
                continue
            text = "\n".join(block.lines)
            for span in re.finditer(r"(?<!`)`([^`]+)`(?!`)", text):
                line = block.line + text.count("\n", 0, span.start())
                yield line, re.sub(r"\s*\n\s*", " ", span[1]).replace("\\|", "|")


def cells(row):
    """The cells of a row of a table; \\| is no boundary."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def rows(block):
    """The rows of a table below its headings, with the numbers of their lines."""
    return [(block.line + i, line) for i, line in enumerate(block.lines) if i >= 2]


def commands(block):
    """The commands of a fenced block: (line, command, lines shown below it or None where the block shows none). A
    command goes on behind a line that ends in a backslash, or inside of quotes and loops."""
    transcript = any(line.startswith("$ ") for line in block.lines)
    found, at = [], 0
    while at < len(block.lines):
        line = block.lines[at]
        if transcript and not line.startswith("$ "):
            if found:
                found[-1][2].append(line)
            at += 1
            continue
        if not line.strip() or (not transcript and line.lstrip().startswith("#")):
            at += 1
            continue
        start, text = at, line[2:] if transcript else line
        while at + 1 < len(block.lines) and unfinished(text):
            at += 1
            more = block.lines[at]
            text += "\n" + (more[2:] if transcript and more.startswith("> ") else more)
        found.append((block.line + start, text, [] if transcript else None))
        at += 1
    for _, _, shown in found:
        while shown and not shown[-1].strip():
            shown.pop()
    return found


def open_quote(text):
    """The quote that the text leaves open, or None."""
    quote, at = None, 0
    while at < len(text):
        sign = text[at]
        if sign == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = None if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (at == 0 or text[at - 1].isspace()):
            at = text.find("\n", at)
            if at < 0:
                return None
        at += 1
    return quote


def unfinished(text):
    """Does the command go on in the next line?"""
    bare = re.sub(r"(^|\s)#[^\n]*", r"\1", text).rstrip()
    if text.endswith("\\") or bare.endswith(("|", "&&", "||")) or open_quote(text):
        return True
    words = re.findall(r"(?:^|[;\n]|\bdo\b|\bthen\b)\s*(for|while|if|done|fi)\b", bare)
    if words.count("for") + words.count("while") > words.count("done") or words.count("if") > words.count("fi"):
        return True
    heredoc = re.search(r"<<-?\s*['\"]?(\w+)", bare)
    return bool(heredoc) and not re.search(rf"^{heredoc[1]}$", text, re.M)

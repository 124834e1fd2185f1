#!/usr/bin/python3
"""Checks the pages of the project: links and names, commands, outputs and figures.

    check.py --root ROOT --build BUILD [--only names|commands] [--everything] [--update] [PAGE...]

--everything runs what needs ../shared, too. --update writes outputs and figures that differ into the pages.
docs/contributing/documentation.md describes what a page may mark."""

import argparse
import ast
import concurrent.futures
import glob
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import time

import figures
import names
import page as pages
import shell

SECONDS = 300  # for one command
GENERATED = {"docs/json.md", "docs/supported-ops.md"}
HERE = os.path.dirname(os.path.abspath(__file__))


# Folders of the project that commands of a page write into: copies, whose files are links.
WRITTEN = ("examples", "firmware")


class Run:
    """A page whose commands are looked at and run."""

    def __init__(self, page, tools, work, arguments):
        self.page, self.tools, self.arguments = page, tools, arguments
        self.folder = os.path.join(work, re.sub(r"\W", "_", page.name))
        self.shell = self.python = None
        self.made = set()
        self.edits = []  # (first line, line after the last, new lines)
        self.ran = self.looked = self.compared = 0
        self.last = None  # what the last block of commands or of Python printed
        self.skipped = set()

    # The folder: the project as it lies there, but for what commands write; nucleon is on the path.

    def prepare(self):
        root = self.arguments.root
        os.makedirs(os.path.join(self.folder, "build"))
        for name in os.listdir(root):
            if name in names.NOT_SOURCE or name in WRITTEN:
                continue
            os.symlink(os.path.join(root, name), os.path.join(self.folder, name))
        for path in self.tools.project.files:
            if path.split("/")[0] in WRITTEN:
                os.makedirs(os.path.join(self.folder, os.path.dirname(path)), exist_ok=True)
                os.symlink(os.path.join(root, path), os.path.join(self.folder, path))
        os.symlink(self.arguments.build, os.path.join(self.folder, "build", "release"))
        tools = os.path.join(self.folder, ".bin")
        os.mkdir(tools)
        os.symlink(self.tools.nucleon, os.path.join(tools, "nucleon"))
        os.symlink(os.path.join(HERE, "field.py"), os.path.join(tools, "field"))
        self.environment = dict(
            os.environ, PATH=tools + ":" + os.environ["PATH"], HOME=self.folder, LC_ALL="C.UTF-8", NO_COLOR="1",
            TERM="dumb", NUCLEON=self.tools.nucleon, PYTHONPATH=os.path.join(root, "python"), PYTHONDONTWRITEBYTECODE="1",
        )
        library = os.path.join(self.arguments.build, "libnucleon.so")
        if os.path.exists(library):
            self.environment["NUCLEON_LIBRARY"] = library

    def run_command(self, command):
        if not self.shell:
            if not os.path.isdir(self.folder):
                self.prepare()
            self.shell = shell.Shell(self.folder, self.environment, SECONDS)
        self.ran += 1
        return self.shell.run(command)

    def run_python(self, code):
        if not self.python:
            if not os.path.isdir(self.folder):
                self.prepare()
            self.python = shell.Python(self.folder, self.environment, "/usr/bin/python3", SECONDS)
        if self.shell:  # where the commands of the page are
            self.python.run(f"__import__('os').chdir({self.shell.run('pwd')[1].strip()!r})")
        self.ran += 1
        return self.python.run(code)

    def is_there(self, what):
        if what.startswith("python:"):
            return importlib.util.find_spec(what[len("python:") :]) is not None
        if what.startswith("../shared"):
            return self.arguments.everything and os.path.exists(os.path.join(self.arguments.root, what))
        if "/" in what or "." in what:
            return os.path.exists(os.path.join(self.folder, what)) or os.path.exists(os.path.join(self.arguments.root, what))
        return shutil.which(what) is not None

    def has_needs(self, block):
        mark = block.mark("needs")
        missing = [what for what in mark.text.split() if not self.is_there(what)] if mark else []
        self.skipped.update(missing)
        return not missing

    def error(self, line, text, shown=None, actual=None):
        if shown is not None:
            text += f"\n    on the page  {shown}"
        if actual is not None:
            text += f"\n    printed      {actual}"
        self.page.error(line, text)

    # Blocks.

    def check(self):
        try:
            for block in self.page.blocks:
                self.check_block(block)
            for line, span in self.page.spans():
                if re.match(r"(?:nucleon|make|cmake|ctest|sh|bash|build/release/\S+) ", span) and "=`" not in span:
                    self.look(line, span, part=True)
        finally:
            for process in (self.shell, self.python):
                if process:
                    process.close()

    def look(self, line, text, part=False):
        self.looked += 1
        wrong = shell.check_text(text, self.tools, self.page, self.made, part)
        if wrong:
            self.error(line, f"{wrong}: {text.strip().splitlines()[0]}")
        self.made.update(os.path.basename(word) for word in re.split(r"[\s'\"=;]+", text))

    def masks(self, block):
        mark = block.mark("mask")
        words = mark.text.split() if mark else []
        for word in words:
            if word not in figures.MASKS and word != "near":
                self.error(mark.line, f"unknown mask '{word}': there are {', '.join(figures.MASKS)} and near")
        return words

    def check_block(self, block):
        there = self.has_needs(block)
        for mark in block.marks:
            if mark.word == "setup":
                for i, command in enumerate(mark.text.splitlines()):
                    if there:
                        self.expect(mark.line + i + 1, command, 0)
                    self.made.update(os.path.basename(word) for word in re.split(r"[\s'\"=;()]+", command))
        if block.mark("output"):
            if there and self.last is not None:
                self.compare(block, block.lines, self.last, block.line, block.line + len(block.lines))
        elif block.kind == "fence":
            self.check_fence(block, there)
        for mark in block.marks:
            if mark.word in ("prints", "rows", "says", "figures", "constants"):
                self.check_figures(block, mark, there)

    def check_fence(self, block, there):
        language = block.info.split(" ")[0]
        if language == "python":
            self.check_python(block, there)
            return
        if language not in ("", "sh", "bash", "shell", "console"):
            return
        commands = pages.commands(block)
        transcript = any(shown is not None for _, _, shown in commands)
        if language == "" and not transcript and not self.is_command(commands):
            return
        runs = there and not block.mark("parse") and (transcript or block.mark("run"))
        code = int(block.mark("exit").text) if block.mark("exit") else 0
        self.last = None
        for i, (line, text, shown) in enumerate(commands):
            if code != 2 or i < len(commands) - 1:
                self.look(line, text)
            if not runs:
                continue
            printed = self.expect(line, text, code if i == len(commands) - 1 else 0)
            self.last = printed
            if shown is not None and printed is not None:
                first = line + text.count("\n") + 1
                self.compare(block, shown, printed, first, first + len(shown))

    def is_command(self, commands):
        if not commands:
            return False
        word = re.sub(r"^(\w+=\S* )+", "", commands[0][1]).split()[0]
        return word in shell.KNOWN | {"nucleon", "make", "cmake", "ctest"} or re.match(r"build/|\./", word) is not None

    def check_python(self, block, there):
        code = "\n".join(block.lines) + "\n"
        try:
            ast.parse(code)
        except SyntaxError as error:
            self.error(block.line + (error.lineno or 1) - 1, f"Python cannot read it: {error.msg}")
            return
        self.looked += 1
        self.last = None
        if block.mark("run") and there:
            # Lines of the page in messages.
            status, printed = self.run_python("\n" * (block.line - 1) + code)
            if status != 0:
                place = re.findall(r'File "page", line (\d+)', printed)
                self.error(int(place[-1]) if place else block.line, "the Python code fails", None,
                           printed.strip().splitlines()[-1] if printed.strip() else "nothing")
            else:
                self.last = printed.splitlines()

    def expect(self, line, command, code):
        """Runs a command that ends with that exit code; the lines that it prints, or None."""
        status, printed = self.run_command(command)
        if status == code:
            return printed.splitlines()
        how = f"takes more than {SECONDS} s" if status == -9 else f"ends with exit code {status}, not {code}"
        self.error(line, f"the command {how}: {command}", None, " / ".join(printed.strip().splitlines()[-3:]))
        return None

    def compare(self, block, shown, printed, first, after):
        self.compared += 1
        printed = [text.rstrip() for text in printed]
        while printed and not printed[-1]:
            printed.pop()
        shown = list(shown)
        while shown and not shown[-1].strip():
            shown.pop()
        found = figures.difference(shown, printed, self.masks(block))
        if not found:
            return
        index, actual = found
        self.error(first + min(index, max(len(shown) - 1, 0)), "the output is another one",
                   shown[index] if index < len(shown) else "(nothing more)",
                   "(nothing more)" if actual is None else actual)
        self.edits.append((first, first + len(shown), [" " * block.indent + text for text in figures.updated(shown, printed)]))

    # Figures.

    def check_figures(self, block, mark, there):
        command, _, rest = mark.text.partition("\n")
        if mark.word == "constants":
            self.check_constants(block, command.split(), mark.line)
            return
        self.look(mark.line, command)
        if mark.word == "figures" or not there:
            return
        printed = self.expect(mark.line, command, 0)
        if printed is None:
            return
        self.compared += 1
        near = "near" in self.masks(block)
        if mark.word == "prints":
            for line, shown, instead in figures.compare_prints(block, printed, self.masks(block)):
                self.error(line, f"not printed by '{command}'", shown, instead or "(no such line)")
                if instead:
                    self.edits.append((line, line + 1, [" " * block.indent + instead]))
        elif mark.word == "rows":
            lines = [text for text in printed if re.search(r"\d", text)]
            for line, shown, new in figures.compare_rows(pages.rows(block), lines, near):
                self.error(line, f"other figures than those of '{command}'", shown, new or "(no such line)")
                if new and new.startswith("|"):
                    self.edits.append((line, line + 1, [new]))
        else:
            self.check_says(block, command, rest, printed, near)

    def check_says(self, block, command, rest, printed, near):
        patterns = [text.strip() for text in rest.splitlines() if text.strip()]
        words = [word for text in printed for word in re.findall(figures.NUMBER, text)]
        for line, shown, wrong, actual in figures.compare_says(block, patterns, words, near):
            problem = "other figures than those of" if wrong else "no such words, with the figures of"
            self.error(line, f"{problem} '{command}'", shown, actual)
            if wrong:
                text = figures.replace_numbers("\n".join(block.lines), wrong)
                block.lines = text.split("\n")
                self.edits.append((block.line, block.line + len(block.lines), block.lines))

    def check_constants(self, block, files, line):
        text = ""
        for name in files:
            if re.fullmatch(figures.NUMBER, name):
                text += f" {name} "
                continue
            found = glob.glob(os.path.join(self.arguments.root, name))
            if not found:
                self.error(line, f"'{name}' is no file of the project")
            for path in found:
                with open(path, encoding="utf-8") as file:
                    text += file.read()
        tokens = figures.tokens(text)
        self.compared += 1
        for number, shown, bare in figures.constants(block):
            if bare not in tokens:
                self.error(number, f"{shown} is not in {', '.join(files)}")


def check_sources(page):
    """Every figure says where it is from."""
    for block in page.blocks:
        for line, figure in figures.unmarked(block):
            page.error(line, f"a figure without its command or source: {figure}: docs/contributing/documentation.md")


def check_orphans(found):
    """Another page leads to every page of docs/."""
    linked = set()
    for page in found.values():
        for target in re.findall(r"\]\(([^)#\s]+\.md)", page.text):
            path = os.path.normpath(os.path.join(os.path.dirname(page.name), target))
            linked.update({path} - {page.name})
    for name in sorted(found):
        if name.startswith("docs/") and name not in linked and os.path.basename(name) != "README.md":
            found[name].error(1, "no page has a link to this one: docs/README.md lists them")


def write_edits(root, run):
    """Writes what is to be on the page, from the end to the start."""
    path = os.path.join(root, run.page.name)
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    last = {}
    for edit in run.edits:
        last[edit[0]] = edit
    for first, after, new in sorted(last.values(), reverse=True):
        lines[first - 1 : after - 1] = new
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def read_pages(root, project, wanted):
    found = {}
    for name in sorted(project.files):
        if name.endswith(".md") and (not wanted or name in wanted):
            with open(os.path.join(root, name), encoding="utf-8") as file:
                found[name] = pages.Page(name, file.read())
    return found


def parse_arguments():
    parser = argparse.ArgumentParser(description="Checks the pages of the project.")
    parser.add_argument("--root", default=".")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--only", choices=["names", "commands"])
    parser.add_argument("--everything", action="store_true", help="what needs ../shared, too")
    parser.add_argument("--update", action="store_true", help="write outputs and figures that differ into the pages")
    parser.add_argument("--without", action="append", default=[], help="a page that is left out")
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    arguments = parser.parse_args()
    arguments.root = os.path.abspath(arguments.root)
    arguments.build = os.path.abspath(arguments.build)
    return arguments


def main():
    arguments = parse_arguments()
    project = names.Project(arguments.root)
    wanted = {os.path.relpath(os.path.abspath(name), arguments.root) for name in arguments.pages}
    unknown = sorted(wanted - project.files)
    if unknown:
        sys.exit(f"check.py: {unknown[0]} is no page of {arguments.root}")
    found = read_pages(arguments.root, project, wanted)
    for name in arguments.without:
        found.pop(name, None)
    anchors = {}

    def anchors_of(name):
        if name not in anchors:
            with open(os.path.join(arguments.root, name), encoding="utf-8") as file:
                anchors[name] = (found.get(name) or pages.Page(name, file.read())).anchors()
        return anchors[name]

    work = tempfile.mkdtemp(prefix="nucleon-docs-")
    try:
        nucleon = os.path.join(arguments.build, "nucleon")
        tools = shell.Tools(nucleon, arguments.build, project)
        tools.empty = os.path.join(work, "empty")
        os.mkdir(tools.empty)
        if arguments.everything:
            os.symlink(os.path.realpath(os.path.join(arguments.root, "..", "shared")), os.path.join(work, "shared"))
        runs = [Run(page, tools, work, arguments) for page in found.values()]
        if arguments.only != "commands":
            for page in found.values():
                names.check(page, project, anchors_of, tools.tests)
                if page.name not in GENERATED:
                    check_sources(page)
            if not wanted:
                check_orphans(found)
        if arguments.only != "names":
            def one(run):
                start = time.monotonic()
                run.check()
                run.seconds = time.monotonic() - start

            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                list(pool.map(one, sorted(runs, key=lambda run: -len(run.page.text))))
    finally:
        shutil.rmtree(work, ignore_errors=True)

    errors = sorted((name, line, text) for page in found.values() for name, line, text in page.errors)
    for name, line, text in errors:
        print(f"{name}:{line}: {text}")
    if arguments.update:
        for run in runs:
            if run.edits:
                write_edits(arguments.root, run)
                print(f"{run.page.name}: {len(run.edits)} places written")
    skipped = sorted(set().union(*(run.skipped for run in runs)))
    print(f"{len(found)} pages: {sum(run.ran for run in runs)} commands run, {sum(run.looked for run in runs)} looked at, "
          f"{sum(run.compared for run in runs)} outputs and figures compared, {len(errors)} errors"
          + (f"; not there: {', '.join(skipped)}" if skipped else ""))
    slow = sorted(((getattr(run, "seconds", 0), run.page.name) for run in runs), reverse=True)[:3]
    print("slowest: " + ", ".join(f"{name} {seconds:.1f} s" for seconds, name in slow if seconds > 0.1))
    sys.exit(bool(errors))


main()

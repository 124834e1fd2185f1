"""What pages name is there: pages and anchors behind links, files, options, identifiers of the sources, tests."""

import os
import re

import page as pages

# Folders of the project that hold no source, and files whose words prove nothing: the pages themselves.
NOT_SOURCE = {"build", "out", ".git", "__pycache__"}
BINARY = (".pt2", ".npz", ".npy", ".zip", ".png", ".jpg", ".bin", ".tflite", ".pte", ".pyc")

# What pages name and the project does not hold: files of other projects, entries of archives.
FOREIGN = re.compile(
    r"schema/program\.fbs|devtools/.*|neutron_target_spec\.py|NeutronBackend\.cpp|models/model\.json|data/.*|\.data/.*|share/.*"
)
# A name in capitals stands for any: PREFIX/lib, NAME.h.
PLACEHOLDER = re.compile(r"(?:^|[/_.+-])(?!README|CONTRIBUTING|LICENSE|CHANGELOG|HELPERS)[A-Z]{2,}(?=[/_.+-]|$)|(?:^|/)[NxX](?=[./]|$)")


class Project:
    """The files of the project, and the words of its sources."""

    def __init__(self, root):
        self.root = root
        self.files, self.folders = set(), set()
        for folder, below, names in os.walk(root, followlinks=True):
            below[:] = [name for name in below if name not in NOT_SOURCE]
            here = os.path.relpath(folder, root)
            here = "" if here == "." else here + "/"
            self.folders.update(here + name for name in below)
            self.files.update(here + name for name in names)
        self.words, self.text = set(), []
        for name in sorted(self.files):
            if name.endswith(".md") or name.endswith(BINARY) or name.startswith(("test/fuzz/corpus", "test/docs")):
                continue
            try:
                with open(os.path.join(root, name), encoding="utf-8") as file:
                    text = file.read()
            except (UnicodeDecodeError, OSError):
                continue
            self.text.append(text)
            self.words.update(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))
        self.text = "\n".join(self.text)
        self.options = set(re.findall(r"--[A-Za-z][\w-]*", self.text))
        # "name" of a row of options: the command line writes its "--" itself.
        self.options.update("--" + name for name in re.findall(r'"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)"', self.text))

    def has(self, path, page):
        """Is there a file or folder of that name: from the root, from the page, or as the end of a path?"""
        path = path.rstrip("/")
        beside = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if {path, beside} & (self.files | self.folders):
            return True
        end = "/" + path
        if "*" in path:
            pattern = re.compile(".*/" + re.escape(path).replace(r"\*", "[^/]*") + "$")
            return any(pattern.match("/" + name) for name in self.files | self.folders)
        return any(name.endswith((end, end + ".in")) for name in self.files | self.folders)


def check_links(page, project, anchors):
    for block, number, line in page.prose():
        for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "``", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            name = os.path.normpath(os.path.join(os.path.dirname(page.name), path)) if path else page.name
            if name not in project.files and name not in project.folders:
                page.error(number, f"the link '{target}' leads to no file: {name}")
            elif anchor and name.endswith(".md") and anchor not in anchors(name):
                page.error(number, f"the link '{target}' leads to no heading of {name}")


# What a code span is when it is one of these: checked; else it is taken as it is.
SOURCES = (".c", ".h", ".S", ".py", ".sh", ".cmake", ".def", ".md", ".txt", ".js", ".in", ".expected")
PATH = re.compile(r"[\w.+-]*[\w+*-]/[\w./+*-]+|[\w*-]+\.\w+")
IDENTIFIER = re.compile(r"(?:struct |enum )?((?:nuc|NUC|NUCLEON)_\w+|neutron[A-Z]\w+)(?:\(.*\))?")
OPTION = re.compile(r"--[a-z][\w-]*")
TEST = re.compile(r"(?:unit|e2e|device|golden|differential|contract|fault|rules|fuzz|docs|python)\.[\w*]+")


def is_ours(span, project):
    """Does the span look like a file of the project?"""
    if FOREIGN.fullmatch(span) or PLACEHOLDER.search(span):
        return False
    first, below, _ = span.partition("/")
    if below and not re.search(r"\.\w+$", span):
        return any(folder == first or folder.endswith("/" + first) for folder in project.folders)
    return span.endswith(SOURCES)


def check_span(page, number, span, project, tests):
    if span.startswith("build/") or " " in span and not IDENTIFIER.fullmatch(span):
        for option in OPTION.findall(span):
            if option not in project.options:
                page.error(number, f"'{option}' in '{span}' is an option of nothing in the project")
        return
    option = OPTION.match(span)
    if option and option[0] not in project.options:
        page.error(number, f"'{option[0]}' is an option of nothing in the project")
    identifier = IDENTIFIER.fullmatch(span)
    if identifier:
        if identifier[1] not in project.words and not identifier[1].endswith("_NAME"):
            page.error(number, f"'{identifier[1]}' is nowhere in the sources")
    elif TEST.fullmatch(span):
        wanted = re.compile(re.escape(span).replace(r"\*", ".*"))
        if tests and not any(wanted.fullmatch(name) for name in tests):
            page.error(number, f"'{span}' is no test of ctest")
    elif PATH.fullmatch(span) and is_ours(span, project) and not project.has(span, page.name):
        page.error(number, f"'{span}' is no file of the project")


def check_names(page, project, tests):
    for number, span in page.spans():
        check_span(page, number, span, project, tests)
    for block in page.blocks:
        for number, line in enumerate(block.lines if block.kind == "fence" else [], block.line):
            for word in re.findall(r"\b(?:nuc|NUC|NUCLEON)_\w+", line):
                if word not in project.words and not word.endswith("_NAME"):
                    page.error(number, f"'{word}' is nowhere in the sources")


def check(page, project, anchors, tests):
    check_links(page, project, anchors)
    check_names(page, project, tests)

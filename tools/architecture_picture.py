#!/usr/bin/env python3
"""Draws docs/pictures/architecture.svg from the link lists of the libraries.

    architecture_picture.py build/release/layers.txt >docs/pictures/architecture.svg
    architecture_picture.py build/release/layers.txt --check docs/pictures/architecture.svg

The build writes layers.txt: one line "folder=library library ..." per library, where the folder is relative to src. A box
of the picture holds top folders. A top folder that no box names goes to the box of the tools if it uses the driver, else to
the box of the foundations."""

import sys
from html import escape

WIDTH, MARGIN = 880, 20
LINE = 17  # from one line of text to the next
LETTER = 6.1  # the width of a letter in the names of folders

BOXES = {  # key: title, sentence, top folders
    "tools": ("Tools", "Command line, reports, evaluation, tuning, C code", ["tools"]),
    "driver": ("Driver", "Runs the stages on the right in order, with the options of a compilation", ["driver", "options"]),
    "front": ("Front end", "Reads the model into a graph", ["front"]),
    "rewrite": ("Rewrites", "Bring operators into forms that NPU and CPU support", ["rewrite"]),
    "quantize": ("Quantizer", "Calibrates in float, converts to int8", ["quantize"]),
    "npu": ("NPU", "Partitions, LiteRT models, microcode", ["npu", "litert"]),
    "cpu": ("CPU", "int8 operators of a Cortex-M", ["cpu"]),
    "back": ("Back end", "Orders operators, plans memory, writes the program", ["back"]),
    "device": ("Device", "Runtime and kernels in freestanding C", ["device"]),
    "run": ("Host", "The same runtime, with a simulated NPU", ["run", "npusim_host"]),
    "graph": ("Graph", "Every stage works on it: nodes, values, shapes; evaluated in float", ["ir", "eval"]),
    "base": ("Foundations", "All parts on the host use them: memory, errors, files, data sets, planning", ["host", "archive", "data", "algorithms"]),
}


def read_layers(path):
    """{folder: folders that it links}, in the order of the file."""
    with open(path) as file:
        lines = [line.strip().partition("=") for line in file if "=" in line]
    owner = {"nuc_" + folder.split("/")[-1]: folder for folder, _, _ in lines}
    return {folder: [owner[name] for name in names.split() if name in owner] for folder, _, names in lines}


def reached(layers, folder):
    """The folders that a folder links, and those that these link."""
    seen, open_folders = set(), [folder]
    while open_folders:
        for used in layers[open_folders.pop()]:
            if used not in seen:
                seen.add(used)
                open_folders.append(used)
    return seen


def rooms_of_boxes(layers):
    """{box: {top folder: its rooms}}"""
    box_of = {top: box for box, (_, _, tops) in BOXES.items() for top in tops}
    rooms = {box: {} for box in BOXES}
    for folder in layers:
        top, _, room = folder.partition("/")
        box = box_of.get(top) or ("tools" if "driver" in reached(layers, folder) else "base")
        found = rooms[box].setdefault(top, [])
        if room:
            found.append(room)
    empty = [box for box in BOXES if not rooms[box]]
    if empty:
        sys.exit(f"tools/architecture_picture.py: no folder in the box {empty[0]}: correct its row of BOXES")
    return rooms


def wrapped(words, width):
    """Lines of words that fit a width in pixels."""
    lines = [""]
    for word in words:
        longer = (lines[-1] + " " + word).strip()
        if lines[-1] and len(longer) * LETTER > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


class Picture:
    def __init__(self, rooms):
        self.rooms, self.parts, self.bottom = rooms, [], 0

    def lines_of(self, box, width):
        """A sentence wrapped to the width, and below it the folders with their rooms."""
        _, sentence, _ = BOXES[box]
        folders = []
        for top, rooms in self.rooms[box].items():
            folders += [f"{top}/"] if not rooms else [f"{top}/{room}" for room in rooms]
        return wrapped(sentence.split(), (width - 24) * 0.93), wrapped(folders, width - 24)

    def height(self, box, width):
        sentence, folders = self.lines_of(box, width)
        return 14 + LINE * (1 + len(sentence) + len(folders))

    def text(self, x, y, text, kind, anchor="start"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def box(self, box, x, y, width, height=0, kind="stage"):
        """Draws a box and returns its lower edge."""
        sentence, folders = self.lines_of(box, width)
        height = height or self.height(box, width)
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" class="{kind}"/>')
        at = y + 20
        self.text(x + 12, at, BOXES[box][0], "title")
        for kind_of_text, lines in (("sentence", sentence), ("folder", folders)):
            for line in lines:
                at += LINE
                self.text(x + 12, at, line, kind_of_text)
        self.bottom = max(self.bottom, y + height)
        return y + height

    def file(self, x, y, width, text):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="30" rx="15" class="file"/>')
        self.text(x + width / 2, y + 20, text, "name", "middle")
        return y + 30

    def arrow(self, x, y, to):
        self.parts.append(f'<path d="M{x:g} {y + 2:g}V{to - 8:g}" class="arrow" marker-end="url(#head)"/>')


STYLE = """text{font-family:sans-serif;fill:#1b2733}
.title{font-size:15px;font-weight:bold}.sentence{font-size:13px}.name{font-size:13px;font-weight:bold}
.folder{font-family:monospace;font-size:10px;fill:#5b6b7a}
rect{stroke-width:1.3}.stage{fill:#e8f1fb;stroke:#3f7cbf}.above{fill:#fdf1df;stroke:#c98a2b}
.below{fill:#eef0f2;stroke:#8793a0}.device{fill:#e6f5ea;stroke:#3d9a5f}.file{fill:#ffffff;stroke:#1b2733}
.arrow{fill:none;stroke:#1b2733;stroke-width:1.5}"""


def draw(rooms):
    picture = Picture(rooms)
    inner = WIDTH - 2 * MARGIN
    side, gap, step = 190, 20, 28
    middle = inner - 2 * (side + gap)
    x, half = MARGIN + side + gap, (middle - gap) / 2
    centre = x + middle / 2

    top = picture.box("tools", MARGIN, MARGIN, inner, kind="above") + step
    y = picture.file(centre - 110, top, 220, "model.pt2, model.tflite")
    first = y + step
    for box in ("front", "rewrite", "quantize"):
        picture.arrow(centre, y, y + step)
        y = picture.box(box, x, y + step, middle)
    left, right = x + half / 2, x + middle - half / 2
    lower = y + step + max(picture.height("npu", half), picture.height("cpu", half))
    for box, at in (("npu", left), ("cpu", right)):
        picture.arrow(at, y, y + step)
        picture.box(box, at - half / 2, y + step, half, lower - y - step)
        picture.arrow(at, lower, lower + step)
    last = y = picture.box("back", x, lower + step, middle)
    picture.arrow(centre, y, y + step)
    y = picture.file(centre - 60, y + step, 120, "model.pte")
    lower = y + step + max(picture.height("device", half), picture.height("run", half))
    for box, at in (("device", left), ("run", right)):
        picture.arrow(max(min(at, centre + 40), centre - 40), y, y + step)
        picture.box(box, at - half / 2, y + step, half, lower - y - step, "device")
    picture.box("driver", MARGIN, first, side, last - first, "above")
    at = x + middle + gap
    picture.box("graph", at, first, side, (last - first - gap) / 2, "below")
    picture.box("base", at, first + (last - first + gap) / 2, side, (last - first - gap) / 2, "below")
    height = picture.bottom + MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}">',
        "<title>The parts of nucleon in the order of the data flow</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" markerWidth="9" markerHeight="8" refX="1" refY="4" orient="auto" '
        'markerUnits="userSpaceOnUse"><path d="M0 0L9 4L0 8Z" fill="#1b2733"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>',
        *picture.parts,
        "</svg>",
        "",
    ])


def main(arguments):
    if len(arguments) not in (1, 3) or len(arguments) == 3 and arguments[1] != "--check":
        sys.exit("usage: architecture_picture.py LAYERS [--check FILE.svg]")
    picture = draw(rooms_of_boxes(read_layers(arguments[0])))
    if len(arguments) == 1:
        sys.stdout.write(picture)
        return
    with open(arguments[2]) as file:
        if file.read() != picture:
            sys.exit(f"{arguments[2]} differs from the link lists: run "
                     "'python3 tools/architecture_picture.py build/release/layers.txt >docs/pictures/architecture.svg'")


main(sys.argv[1:])

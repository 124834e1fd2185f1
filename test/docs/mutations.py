#!/usr/bin/python3
"""Shows that check.py finds what it is for: a page without errors, and the same page with one thing wrong at a time, each
found in its line; --update brings back what was printed. mutations.py ROOT BUILD"""

import os
import re
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.py")

PAGE = """\
# A page

See [the part below](#part-two-of-it) and [the other](README.md), `src/device/base/npu_cost.c`, `fixed_point.h`,
`nuc_enter()`, `--memory-budget`, `unit.base`, and `nucleon explain
--require-full-delegation`.

%%
<!-- check: setup
echo 12 seconds >made
-->

```
$ cat made
12 seconds
$ printf '%s\\n' one two three four
one
...
four
$ cd docs &&
> pwd | sed 's|.*/||'
docs
```

%%
```sh
nucleon compile model.pt2 --calibration samples.npz \\
    -o model.pte --io int8   # a comment
make firmware PROGRAM=model.pte
cmake --preset cm33 && cmake --build --preset cm33
ctest --test-dir build/release -R unit.base
sh tools/firmware_run.sh x.elf
build/release/test/unit/test_base
```

%%
<!-- check: mask time -->

```
$ echo took 0.25 s
took 3.5 s
```

%%
<!-- check: exit 2 -->

```
$ nucleon compile --colour 2>&1 | head -n 1; exit 2
nucleon: compile: unknown option '--colour', did you mean '--color'? 'nucleon help compile' lists the options
```

%%
<!-- check: run -->

```python
import struct
numbers = struct.unpack("<2h", b"\\1\\0\\2\\0")
print(numbers)
```

<!-- check: output -->

```
(1, 2)
```

%%
<!-- check: parse it makes something -->

```console
$ true
whatever
```

%%
## Part two of it

%%
<!-- check: rows printf '1024 3.14159\\n7 2\\n' -->

| | First | Second |
|---|---|---|
| 1 one | 1,024 | 3.14 |
| 2 two | 7 | **2** |

%%
<!-- check: says printf '1234567 0.456\\n'
is {} by its
share is {} of
-->

The whole is 1,234,567 by
its own word; its share is 0.46 of it.

%%
<!-- check: prints printf 'a 1\\nb 2\\nc 3\\n' -->

```
a 1
c 3
```

%%
<!-- check: constants src/device/base/npu_cost.c -->

| Term | Cycles |
|---|---|
| call of 2 | 4,600 |

%%
<!-- check: figures sh bench/peers.sh MODELS -->

| Model | us |
|---|---|
| any | 12.5 |
| other | 13.5 |
"""

# Between two %% stands what is by itself.
PARTS = PAGE.split("%%\n")
PAGE = "".join(PARTS)

# What is changed into what, what the page says then: in the line of the change, or so many below.
CASES = [
    ("#part-two-of-it", "#part-three", "leads to no heading", 0),
    ("(README.md)", "(READYOU.md)", "leads to no file", 0),
    ("npu_cost.c", "npu_costs.c", "is no file of the project", 0),
    ("`fixed_point.h`", "`fixed_points.h`", "is no file of the project", 0),
    ("nuc_enter()", "nuc_enters()", "is nowhere in the sources", 0),
    ("`--memory-budget`", "`--memory-budgets`", "is an option of nothing", 0),
    ("unit.base`", "unit.basis`", "is no test of ctest", 0),
    ("`nucleon explain", "`nucleon explains", "has no command 'explains'", 0),
    ("--require-full-delegation", "--require-fuller-delegation", "has no option|option of nothing", None),
    ("\n12 seconds\n$", "\n13 seconds\n$", "on the page  13 seconds\n *printed      12 seconds", 1),
    ("one\n...\nfour", "one\n...\nfive", "on the page  five\n *printed      four", 2),
    ("one\n...\nfour", "one\ntwo\nfour", "on the page  four\n *printed      three", 2),
    ("docs\n```", "docs\nmore\n```", "on the page  more\n *printed      \\(nothing more\\)", 1),
    ("--calibration samples.npz", "--calibrate samples.npz", "has no option '--calibrate'", 0),
    ("--io int8", "--io int9", "takes float, int8, not 'int9'", -1),
    ("make firmware", "make firmwares", "is no goal", 0),
    ("firmware PROGRAM=", "firmware PROGRAMM=", "is no variable", 0),
    ("cmake --preset cm33", "cmake --preset cm34", "is no preset", 0),
    ("-R unit.base\n", "-R unit.basis\n", "no test of ctest", 0),
    ("tools/firmware_run.sh", "tools/firmware_runs.sh", "is no file of the project", 0),
    ("unit/test_base\n", "unit/test_bases\n", "is made by nothing", 0),
    ("$ echo took", "$ ecko took", "no command that the checks know", 0),
    ("took 3.5 s", "took 3.5 m", "another one", 0),
    ("exit 2 -->", "exit 3 -->", "ends with exit code 2, not 3", 3),
    ("import struct", "import structure", "No module named", 0),
    ("import struct", "import struct as", "Python cannot read it", 0),
    ("(1, 2)\n", "(1, 3)\n", "printed      \\(1, 2\\)", 0),
    ("$ true\n", "$ nucleon fly\n", "has no command 'fly'", 0),
    ("1,024", "1,025", "1,024", 0),
    ("3.14 |", "3.15 |", "3.14", 0),
    ("**2**", "**2** 1", "1 numbers|2 numbers", 0),
    ("1,234,567 by", "1,234,568 by", "printed      1234567", 0),
    ("its own word", "his own word", "no such words", -1),
    ("0.46", "0.45", "printed      0.456", 0),
    ("a 1\nc 3\n```", "a 1\nc 4\n```", "printed      c 3", 1),
    ("a 1\nc 3\n```", "c 3\na 1\n```", "on the page  a 1", 1),
    ("| 4,600 |", "| 4,601 |", "4,601 is not in", 0),
    ("<!-- check: figures sh bench/peers.sh MODELS -->\n", "\n", "a figure without its command or source", 2),
    ("its share is 0.46 of it.\n", "its share is 0.46 of it.\n\nIt takes 12 ms.\n", "a figure without .*: 12 ms", 2),
    ("bench/peers.sh", "bench/pears.sh", "is no file of the project", 0),
    ("check: run", "check: walk", "unknown mark 'walk'", 0),
    ("mask time", "mask times", "unknown mask", 0),
    ("| other | 13.5 |\n", "| other | 13.5 |\n\n```\nopen", "without its end", 2),
]
# What --update does not mend: everything but outputs and figures.
UPDATED = range(9, 13)


def with_part(old, new):
    """The page with the part that has the old text, changed, and the heading; blank lines stand for the other parts."""
    here = next(part for part in PARTS if old in part)
    text = [part if part is here or part.startswith("## ") else "\n" * part.count("\n") for part in PARTS]
    return "".join(text).replace(old, new, 1)


def line_of(text, part):
    return text.count("\n", 0, text.index(part)) + 1


def run(root, build, *options):
    done = subprocess.run([sys.executable, CHECK, "--root", root, "--build", build, *options], text=True, check=False,
                          stdout=subprocess.PIPE)
    return done.returncode, re.split(r"\n(?=\S)", done.stdout)


def main():
    source, build = (os.path.abspath(path) for path in sys.argv[1:])
    failures = []
    with tempfile.TemporaryDirectory() as root:
        for name in os.listdir(source):
            if name not in ("docs", "build", "out", ".git") and not name.endswith(".md"):
                os.symlink(os.path.join(source, name), os.path.join(root, name))
        os.mkdir(os.path.join(root, "docs"))

        def write(name, text):
            with open(os.path.join(root, "docs", name), "w", encoding="utf-8") as file:
                file.write(text)

        write("README.md", PAGE)
        names = []
        for i, (old, new, _, _) in enumerate(CASES):
            names.append(f"case{i:02}.md")
            write(names[i], with_part(old, new))
        code, lines = run(root, build, *(os.path.join(root, "docs", name) for name in ["README.md"] + names))
        errors = {}
        for line in lines:
            found = re.match(r"docs/([\w.]+):(\d+): ", line)
            if found:
                errors.setdefault(found[1], []).append((int(found[2]), line))
        if "README.md" in errors:
            failures.append(f"the page itself has errors: {errors['README.md']}")
        if code != 1:
            failures.append(f"the exit code is {code}, not 1")
        for i, (old, new, wanted, below) in enumerate(CASES):
            mine = errors.get(names[i], [])
            place = line_of(PAGE, old) + (below or 0)
            if not any(re.search(wanted, text) and (below is None or line == place) for line, text in mine):
                failures.append(f"'{old}' as '{new}': wanted in line {place}: {wanted}; found: {mine}")
        run(root, build, "--update", *(os.path.join(root, "docs", names[i]) for i in UPDATED))
        for i in UPDATED:
            with open(os.path.join(root, "docs", names[i]), encoding="utf-8") as file:
                text = file.read()
            if CASES[i][0:2] != ("one\n...\nfour", "one\ntwo\nfour") and text != with_part(CASES[i][0], CASES[i][0]):
                failures.append(f"--update leaves '{CASES[i][1]}'")
    for failure in failures:
        print("FAIL", failure)
    print(f"{len(CASES)} mutations, {len(failures)} failures")
    sys.exit(bool(failures))


main()

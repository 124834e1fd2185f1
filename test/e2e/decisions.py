"""decisions.py NUCLEON BUILD SOURCE_ROOT: decisions of generated C, fed by MODEL_push(), are those of `nucleon run` on
the host and in a firmware project on a Cortex-M33 in QEMU; the C++ wrapper gives the program's outputs. What has no
compiler is left out, with a line."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

nucleon, build, root = (os.path.abspath(a) for a in sys.argv[1:4])
digits = os.path.join(root, "examples/digits")
samples = os.path.join(digits, "test.npz")
CLASSES = {"classes": {"smoothing": "average", "window": 3, "threshold": 0.5, "minimum_count": 2, "ignore": [0]}}
CELLS = {"boxes": {"form": "fomo", "rows": 10, "columns": 1, "background": False, "threshold": 0.2}}

PUSH = """
#include <stdio.h>
#include <string.h>
#include "model.h"

int main(void)
{
    static float values[5760];
    const float *at = values;
    size_t n = fread(values, sizeof values[0], 5760, stdin), given = 0;

    if (model_load(NULL) != NUC_OK || model_decide() != NULL)
        return 1;
    while (given < n) { /* in pieces that are no whole inputs */
        size_t count = n - given < 50 ? n - given : 50;
        given += count;
        while (model_push(&at, &count)) {
            const struct nuc_decider *d = model_decide();
            unsigned bits = 0;
            if (d == NULL || model_pushed() != NUC_OK)
                return 1;
            if (d->n_found > 0)
                memcpy(&bits, &d->found[0].score, sizeof bits);
            printf("%d %d %u\\n", d->is_new, d->n_found > 0 ? (int)d->found[0].label : -1, bits);
        }
    }
    return 0;
}
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"FAIL {' '.join(command)}: {done.stdout.decode()[-2000:]}{done.stderr.decode()[-2000:]}")
    return done.stdout


def compile_digits(name, decision, *options):
    run(nucleon, "compile", f"{digits}/digits.pt2", "--calibration", f"{digits}/calibration.npz", "-o", name, "--quiet",
        "--target", "cortex-m33", "--io", "int8", *options, *(["--decision", json.dumps(decision)] if decision else []))
    return json.loads(run(nucleon, "run", name, "--input", samples, "--json"))


def libraries(*names):
    return [f"{build}/libnucleon-{n}.a" for n in names] + ["-lm", "-lpthread"]


def bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


def pushed_on_the_host(values):
    steps = compile_digits("classes.pte", CLASSES)["decisions"]
    run(nucleon, "codegen", "classes.pte", "-o", "out", "--name", "model")
    with open("push.c", "w") as f:
        f.write(PUSH)
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-Iout", f"-I{root}/include", "push.c", "out/model.c", "out/model_data.c",
        "-o", "push", *libraries("runtime", "simulator"))
    lines = run("./push", input=values[:4 * 64 * 90]).decode().split("\n")[:-1]
    wanted = []
    for step in steps[:90]:
        found = step["found"]
        wanted.append(f"{int(step['new'])} {found[0]['label'] if found else -1} {bits(found[0]['score']) if found else 0}")
    assert lines == wanted, "what is pushed is decided otherwise"
    assert any(w.startswith("1") for w in wanted) and any(" -1 " in w for w in wanted)
    print("ok   pushed on the host")


def on_the_board():
    if not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")):
        return print("skip on the board: no arm-none-eabi-gcc or no qemu-system-arm")
    steps = compile_digits("cells.pte", CELLS)["decisions"]
    run(nucleon, "codegen", "cells.pte", "--project", "project", "--name", "cells", "--input", samples)
    run("cmake", "-S", "project", "-B", "built", f"-DNUCLEON_SOURCE={root}")
    run("cmake", "--build", "built", "--target", "cells_c", "-j2")
    text = run("sh", "project/run.sh", "built/cells_c.elf").decode()
    got = re.findall(r"^sample (\d+): (\d+), (.*)$", text, re.M)
    wanted = [(str(k), f) for k, step in enumerate(steps) for f in step["found"]]
    assert len(got) == len(wanted) > 300, (len(got), len(wanted))
    for (sample, label, numbers), (k, f) in zip(got, wanted):
        numbers = [int(n[:-3]) for n in numbers.split()]
        exact = [f[m] * 1e6 for m in ("score", "x", "y", "w", "h")]
        assert sample == k and int(label) == f["label"], (sample, k)
        assert all(abs(a - b) <= 1 for a, b in zip(numbers, exact)), (numbers, exact) # printed in whole millionths
    print(f"ok   {len(got)} boxes on the board")


def in_cpp(values):
    if not shutil.which("c++"):
        return print("skip C++: no c++")
    run(nucleon, "compile", f"{digits}/digits.pt2", "--calibration", f"{digits}/calibration.npz", "-o", "float.pte", "--quiet")
    run(nucleon, "run", "float.pte", "--input", samples, "--output", "float.npz")
    run("c++", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-pedantic", "-Wall", "-Wextra", "-Werror",
        f"-I{root}/include", f"{root}/test/e2e/runtime.cpp", "-o", "wrapped", *libraries("runtime", "simulator"))
    with zipfile.ZipFile("float.npz") as f:
        assert f.read("out0.npy")[-14400:] == run("./wrapped", "float.pte", input=values), "the wrapper's outputs differ"
    print("ok   C++ on the host")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    with zipfile.ZipFile(samples) as f:
        inputs = f.read("input.npy")[-92160:]
    pushed_on_the_host(inputs)
    in_cpp(inputs)
    on_the_board()

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


def samples_on_the_host():
    """A stream of int16 through a front end."""
    sound = struct.pack("<5760h", *((i * i * 7) % 20011 - 10000 for i in range(5760)))
    with open("sound.wav", "wb") as f:
        f.write(b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16) + b"data" + struct.pack("<I", len(sound)) + sound)
    with open("mfcc.json", "w") as f:
        json.dump({"audio": {"samples": 16000, "hop": 320, "power": 1, "lowest": 20, "highest": 4000, "coefficients": 10}}, f)
    run(nucleon, "compile", f"{root}/examples/spoken/spoken.pt2", "--front-end", "mfcc.json", "--no-quantize", "--stream", "1:640", "--target",
        "cortex-m33", "--decision", '{"classes":{"threshold":0,"activation":"softmax"}}', "-o", "sound.pte", "--quiet")
    steps = json.loads(run(nucleon, "run", "sound.pte", "--input", "sound.wav", "--json"))["decisions"]
    run(nucleon, "codegen", "sound.pte", "-o", "out", "--name", "model")
    with open("push.c", "w") as f:
        f.write(PUSH.replace("float values", "int16_t values").replace("const float *at", "const int16_t *at"))
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off", "-Iout", f"-I{root}/include", "push.c", "out/model.c",
        "out/model_data.c", "-o", "push", *libraries("runtime", "simulator"))
    lines = run("./push", input=sound).decode().split("\n")[:-1]
    assert lines == [f"{int(s['new'])} {s['found'][0]['label']} {bits(s['found'][0]['score'])}" for s in steps], "samples are decided otherwise"
    assert len(lines) == 9 and '"{\\042audio\\042:' in open("out/model.h").read()
    print("ok   samples pushed on the host")
    a_label_track(steps)


def a_label_track(steps):
    """sound.txt beside sound.wav says what is heard in it: in hop 0 what the program says, and an hour later something else."""
    with open("names", "w") as f:
        f.writelines(f"class {k}\n" for k in range(10))
    run(nucleon, "compile", f"{root}/examples/spoken/spoken.pt2", "--front-end", "mfcc.json", "--no-quantize", "--stream", "1:640", "--target",
        "cortex-m33", "--decision", '{"classes":{"threshold":0,"activation":"softmax","step_seconds":0.04}}', "--classes", "names", "-o", "named.pte",
        "--quiet")
    with open("sound.txt", "w") as f:
        f.write(f"0.01\t0.02\tclass {steps[0]['found'][0]['label']}\n3600.0\t3601.0\tclass 1\n")
    got = json.loads(run(nucleon, "evaluate", "named.pte", "--dataset", "sound.wav", "--json"))["decisions"]["program"]
    assert (got["labelled"], got["found"], got["delay_steps"]) == (1, 1, 0), got
    assert got["false_alarms"] == sum(s["new"] for s in steps) - 1, got
    with open("sound.txt", "w") as f:
        f.write("0.01\t0.02\tclass 10\n")
    refusal = subprocess.run([nucleon, "evaluate", "named.pte", "--dataset", "sound.wav"], capture_output=True, text=True)
    assert refusal.returncode == 1 and "sound.txt: line 1: 'class 10' is no class of the program: correct it" in refusal.stderr, refusal.stderr
    print("ok   a label track")


def boxes_of(text, steps):
    """How many were printed, which are those of the host."""
    got = re.findall(r"^sample (\d+): (\d+), (.*)$", text, re.M)
    wanted = [(str(k), f) for k, step in enumerate(steps) for f in step["found"]]
    assert len(got) == len(wanted), (len(got), len(wanted))
    for (sample, label, numbers), (k, f) in zip(got, wanted):
        numbers = [int(n[:-3]) for n in numbers.split()]
        exact = [f.get(m, 0) * 1e6 for m in ("score", "x", "y", "w", "h")]
        assert sample == k and int(label) == f["label"], (sample, k)
        assert all(abs(a - b) <= 1 for a, b in zip(numbers, exact)), (numbers, exact) # printed in whole millionths
    return len(got)


def on_the_board():
    """Generated C, and the program file whose decision the runtime reads, print what the host decides, to the letter."""
    if not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")):
        return print("skip on the board: no arm-none-eabi-gcc or no qemu-system-arm")
    rules = {"cells": CELLS, "classes": CLASSES, "anomaly": {"anomaly": {"threshold": 0.9, "score": "max"}}}
    for name, rule in rules.items():
        steps = compile_digits("cells.pte", rule)["decisions"]
        run(nucleon, "codegen", "cells.pte", "--project", "project", "--name", "cells", "--input", samples)
        if not os.path.exists("built"):
            run("cmake", "-S", "project", "-B", "built", f"-DNUCLEON_SOURCE={root}")
        run("cmake", "--build", "built", "-j2")
        c, pte = (run("sh", "project/run.sh", f"built/cells_{form}.elf").decode() for form in ("c", "pte"))
        assert re.findall("^sample .*$", c, re.M) == re.findall("^sample .*$", pte, re.M), name
        n = boxes_of(pte, steps)
        assert n > 30, (name, n)
        print(f"ok   {name}: {n} on the board, of generated C and of the program file")
    # Another program in the image that was linked: its decision is read, and what takes more memory is refused.
    old = open("cells.pte", "rb").read()
    steps = compile_digits("cells.pte", {"anomaly": {"threshold": 0.5, "score": "max"}})["decisions"]
    new = open("cells.pte", "rb").read()
    assert new != old
    run(nucleon, "pack", "cells.pte", "-o", "project/program/cells.npk", "--program-version", "2")
    run("cmake", "--build", "built", "--target", "cells_pte")
    assert boxes_of(run("sh", "project/run.sh", "built/cells_pte.elf").decode(), steps) > 30
    compile_digits("cells.pte", CELLS)
    run(nucleon, "pack", "cells.pte", "-o", "project/program/cells.npk", "--program-version", "2")
    run("cmake", "--build", "built", "--target", "cells_pte")
    done = subprocess.run(["sh", "project/run.sh", "built/cells_pte.elf"], capture_output=True)
    assert done.returncode != 0 and b"takes more memory than the image was made for" in done.stdout, done.stdout
    print("ok   another decision in the same image")


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


# ---- evaluation ----


def npy(sizes, numbers):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({', '.join(map(str, sizes))},), }}"
    header += " " * (117 - len(header)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(numbers)}d", *numbers)


def evaluate(program, name, sizes, numbers, *options):
    """The scores of decisions with these labels beside the samples."""
    with zipfile.ZipFile(samples) as old, zipfile.ZipFile("labelled.npz", "w") as new:
        new.writestr("input.npy", old.read("input.npy"))
        new.writestr(f"{name}.npy", npy(sizes, numbers))
    result = json.loads(run(nucleon, "evaluate", program, "--dataset", "labelled.npz", *options, "--json"))
    return result["decisions"]


def refused(program, name, sizes, numbers, said):
    try:
        evaluate(program, name, sizes, numbers)
    except SystemExit as end:
        assert f"array '{name}' has {said}" in str(end), end
    else:
        sys.exit(f"FAIL labels are taken: {said}")


def labels_are_checked():
    n = len(compile_digits("classes.pte", CLASSES)["decisions"])
    refused("classes.pte", "label_events", [n], [-1] * 7 + [10] + [0] * (n - 8), "10 for sample 7")
    refused("classes.pte", "label_events", [n], [0.5] + [0] * (n - 1), "0.5 for sample 0")
    compile_digits("cells.pte", CELLS)
    refused("cells.pte", "label_boxes", [n, 1, 5], [0, 0, float("nan"), 1, 1] * n, "nan for sample 0")
    assert evaluate("cells.pte", "label_boxes", [n, 1, 5], [-1, 0, float("nan"), 1, 1] * n)["program"] is not None
    compile_digits("anomaly.pte", {"anomaly": {"threshold": 0.1}})
    refused("anomaly.pte", "label_anomaly", [n], [0, 1, 2] + [0] * (n - 3), "2 for sample 2")
    print("ok   labels are checked")


def overlap(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    both = w * h if w > 0 and h > 0 else 0
    return both / (a[2] * a[3] + b[2] * b[3] - both)


def average_precision(found, labels, iou):
    """Of [(sample, score, box)] and {sample: [box]}, as COCO defines it."""
    taken, right, points = set(), 0, []
    for n, (sample, _, box) in enumerate(sorted(found, key=lambda f: -f[1]), 1):
        best = max(((overlap(box, b), -k) for k, b in enumerate(labels.get(sample, [])) if (sample, k) not in taken),
                   default=(0, 0))
        if best[0] >= iou:
            taken.add((sample, -best[1]))
            right += 1
        points.append((right / sum(map(len, labels.values())), right / n))
    return sum(max((p for r, p in points if r >= k / 100), default=0) for k in range(101)) / 101


def boxes_are_scored():
    steps = compile_digits("cells.pte", CELLS)["decisions"]
    found = [(k, f["score"], [f[m] for m in "xywh"]) for k, s in enumerate(steps) for f in s["found"]]
    labels, most = {}, 3
    for k, (sample, _, (x, y, w, h)) in enumerate(found): # moved by a part of their height; every fifth is missing
        if k % 5 and len(labels.get(sample, [])) < most:
            labels.setdefault(sample, []).append([x, y + h * (k % 7) / 16.4, w, h])
    numbers = []
    for sample in range(len(steps)):
        rows = [[0, *b] for b in labels.get(sample, [])]
        numbers += sum(rows + [[-1, 0, 0, 0, 0]] * (most - len(rows)), [])
    got = evaluate("cells.pte", "label_boxes", [len(steps), most, 5], numbers)["program"]
    wanted = [average_precision(found, labels, 0.5 + 0.05 * k) for k in range(10)]
    assert abs(got["map50"] - wanted[0]) < 1e-6 and abs(got["map50_95"] - sum(wanted) / 10) < 1e-6, (got, wanted)
    assert 0.2 < got["map50_95"] < got["map50"] < 0.9
    print(f"ok   mAP {got['map50']:.4f}, {got['map50_95']:.4f}")


def events_are_scored():
    rule = {"classes": {**CLASSES["classes"], "step_seconds": 0.5}}
    steps = compile_digits("timed.pte", rule)["decisions"]
    labels, events = [-1] * len(steps), 0
    for k in range(len(steps) - 3, 2, -1): # an event begins two steps before it is noticed
        if steps[k]["new"] and k % 2 == 0 and all(l == -1 for l in labels[k - 3:k + 1]):
            labels[k - 2:k + 1] = [steps[k]["found"][0]["label"]] * 3
            events += 1
    labels[0] = 7 # and one that is not
    got = evaluate("timed.pte", "label_events", [len(steps)], labels, "--reference", f"{digits}/digits.pt2")
    new = sum(s["new"] for s in steps)
    program = got["program"]
    assert program["labelled"] == events + 1 and program["found"] == events > 5, (program, events)
    assert program["false_alarms"] == new - events and program["delay_steps"] == 2 and program["delay_seconds"] == 1
    assert abs(program["false_alarms_per_hour"] - (new - events) * 7200 / len(steps)) < 1e-6
    assert got["reference"]["labelled"] == events + 1
    print(f"ok   {events} events")


def anomalies_are_scored():
    steps = compile_digits("anomaly.pte", {"anomaly": {"threshold": 0.9, "score": "max"}})["decisions"]
    scores, labels = [s["found"][0]["score"] for s in steps], [k * k % 3 for k in range(len(steps))]
    said = [s["found"][0]["label"] for s in steps]
    assert 0.5 < sum(said) / len(said) < 1
    got = evaluate("anomaly.pte", "label_anomaly", [len(steps)], labels)["program"]
    ones, zeros = ([s for s, l in zip(scores, labels) if l == w] for w in (1, 0))
    auc = sum((a > b) + (a == b) / 2 for a in ones for b in zeros) / (len(ones) * len(zeros))
    assert abs(got["auc"] - auc) < 1e-6 and got["labelled"] == len(ones) and got["normal"] == len(zeros), (got, auc)
    assert got["found"] == sum(a and b for a, b in zip(said, labels))
    print(f"ok   AUC {auc:.4f}")


def a_quantile_is_of_the_calibration_data():
    """Of the quantized model, and of a float program, which computes what the model does."""
    tutorial = os.path.join(root, "examples/tutorial")
    for options, least in (["--quiet"], 0.1), (["--quiet", "--no-quantize"], 0.18):
        run(nucleon, "compile", f"{tutorial}/motion.pt2", "--calibration", f"{tutorial}/samples.npz", "-o", "v.pte", *options,
            "--decision", '{"anomaly": {"quantile": 0.8, "score": "max"}}')
        steps = json.loads(run(nucleon, "run", "v.pte", "--input", f"{tutorial}/samples.npz", "--json"))["decisions"]
        share = sum(s["found"][0]["label"] for s in steps) / len(steps)
        assert least < share <= 0.22, share # a fifth but for ties, and steps of the program that the model does not make
        print(f"ok   {share:.3f} above the quantile 0.8")


def points_are_scored():
    rule = {"keypoints": {"form": "coordinates", "points": 5, "threshold": 0}}
    steps = compile_digits("points.pte", rule)["decisions"]
    numbers = []
    for k, s in enumerate(steps):
        for f in s["found"]:
            numbers += [f["x"] + 0.03, f["y"] - 0.04, f["label"] % 2] # 0.05 away; even ones are not there
    got = evaluate("points.pte", "label_points", [len(steps), 5, 3], numbers)["program"]
    assert got["labelled"] == got["found"] == 2 * len(steps) and abs(got["mean_distance"] - 0.05) < 1e-6, got
    print("ok   distances")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    with zipfile.ZipFile(samples) as f:
        inputs = f.read("input.npy")[-92160:]
    pushed_on_the_host(inputs)
    samples_on_the_host()
    in_cpp(inputs)
    boxes_are_scored()
    events_are_scored()
    anomalies_are_scored()
    points_are_scored()
    labels_are_checked()
    a_quantile_is_of_the_calibration_data()
    on_the_board()

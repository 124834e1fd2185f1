#!/usr/bin/python3
"""Prints what the model of cycles says next to what is printed or counted elsewhere.

    cycles.py [--reference DIR] MODEL[=CALIBRATION.npz] ...

--reference: the latencies that NXP prints for the i.MX RT700, with build/release/test/conformance/cycle_fit.
MODEL: one of one input, compiled for cortex-m33. Its instructions are counted on QEMU's Cortex-M33, its cycles are those
of 'nucleon run --profile'. "left out": the cycles with the row of each kernel scaled to the other models alone, which
shows what the error is for a model that the rows are not fitted to. Exit code 1: a model is more than 15 % off.
NUCLEON: the host's nucleon."""
import collections
import json
import os
import sys
import tempfile

from board import NUCLEON, ROOT, output_of, write_zeros

ALLOWED = 0.15


def measure(model, folder):
    """Of each operator: (kernel, instructions, cycles)."""
    path, _, calibration = model.partition("=")
    program, zeros = os.path.join(folder, "program.pte"), os.path.join(folder, "zeros.npy")
    data = ["--calibration", calibration] if calibration else []
    output_of(NUCLEON, "compile", path, *data, "--target", "cortex-m33", "-q", "-o", program)
    method = json.loads(output_of(NUCLEON, "inspect", program, "--json"))["methods"][0]
    write_zeros(zeros, method["values"][method["inputs"][0]])
    profile = json.loads(output_of(NUCLEON, "run", program, "--input", zeros, "--target", "cortex-m33", "--profile",
                                   "--json"))
    built = output_of("sh", os.path.join(ROOT, "tools/firmware.sh"), program,
                      env=dict(os.environ, NUCLEON=NUCLEON, FIRMWARE_BUILD=os.path.join(folder, "firmware")))
    image = built.split("image ", 1)[1].split("\n", 1)[0]
    counted = {}
    for line in output_of("sh", os.path.join(ROOT, "tools/firmware_run.sh"), image).splitlines():
        words = line.split()
        if words and words[0] == "operator":
            counted[int(words[1])] = int(words[4])
    rows = profile.get("profile", profile)["rows"]
    return [(r["operator"], counted[r["instruction"]], r["cycles"]) for r in rows if r["instruction"] in counted]


def levels(measured, without):
    """By kernel: how many instructions a cycle of the model stands for, over all models but one."""
    sums = collections.defaultdict(lambda: [0, 0])
    for model, operators in measured.items():
        for kernel, instructions, cycles in operators if model != without else []:
            sums[kernel][0] += instructions
            sums[kernel][1] += cycles
    return {kernel: a / b for kernel, (a, b) in sums.items() if b > 0}


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--reference"]:
        print(output_of(os.path.join(ROOT, "build/release/test/conformance/cycle_fit"), arguments[1]))
        arguments = arguments[2:]
    if not arguments:
        sys.exit(__doc__)
    measured, off = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments:
            measured[model] = measure(model, folder)
    print("%-26s %12s %12s %8s %9s" % ("model", "instructions", "cycles", "error", "left out"))
    for model, operators in measured.items():
        other = levels(measured, model)
        instructions, cycles = (sum(o[i] for o in operators) for i in (1, 2))
        left_out = sum(c * other.get(k, 1) for k, _, c in operators)
        name = os.path.splitext(os.path.basename(model.partition("=")[0]))[0]
        name = os.path.basename(os.path.dirname(model)) if name == "model" else name
        print("%-26s %12d %12d %+6.1f %% %+7.1f %%"
              % (name[:26], instructions, cycles, 100 * (cycles / instructions - 1),
                 100 * (left_out / instructions - 1)))
        off += abs(cycles / instructions - 1) > ALLOWED
    return off > 0


sys.exit(main())

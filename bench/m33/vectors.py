#!/usr/bin/python3
"""Cycles of a program on a Cortex-M55 as the model counts them: one for an instruction, two for one of vectors.

    vectors.py PROGRAM.pte ...

Each program is built for QEMU's mps3-an547 by tools/firmware.sh, and QEMU writes the address of every instruction that
it executes: instructions, those of vectors, and cycles of each operator, and what 'nucleon run --profile' says of
them. Exit code 1: the sum of a program is more than 20 % off. NUCLEON: the host's nucleon."""
import json
import os
import re
import subprocess
import sys
import tempfile

from board import NUCLEON, ROOT, output_of, write_zeros

OBJDUMP = os.environ.get("LLVM_OBJDUMP", "llvm-objdump-14")
ALLOWED = 0.2


def addresses(image):
    """Those of vector instructions, and of the function that the runner calls before and after each operator."""
    text = output_of(OBJDUMP, "--triple=thumbv8.1m.main-none-eabi", "--mattr=+mve.fp,+dsp,+fp64,+lob", "-d",
                     "--no-show-raw-insn", image)
    vectors, count = set(), None
    for line in text.splitlines():
        symbol = re.match(r"([0-9a-f]+) <nuc_port_instructions>:", line)
        code = re.match(r"\s*([0-9a-f]+):\s+(v\S+)\s+(.*)", line)
        if symbol:
            count = b"%08x" % int(symbol.group(1), 16)
        elif code and re.search(r"\bq[0-7]\b", code.group(3)):
            vectors.add(b"%08x" % int(code.group(1), 16))
    return vectors, count


def measure(image):
    """(instructions, vector instructions) of each operator."""
    vectors, count = addresses(image)
    qemu = subprocess.Popen(
        ["qemu-system-arm", "-M", "mps3-an547", "-display", "none", "-monitor", "none", "-serial", "none", "-singlestep",
         "-d", "exec,nochain", "-D", "/dev/stderr", "-chardev", "stdio,id=text", "-kernel", image,
         "-semihosting-config", "enable=on,target=native,chardev=text,arg=runner"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    parts = [[0, 0]]
    for line in qemu.stderr:
        if not line.startswith(b"Trace"):
            continue
        address = line.split(b"/", 2)[1]
        parts[-1][0] += 1
        parts[-1][1] += address in vectors
        if address == count:
            parts.append([0, 0])
    operators = [line.split() for line in qemu.stdout.read().decode().splitlines() if line.startswith("operator")]
    return {int(words[1]): parts[1 + 2 * i] for i, words in enumerate(operators)}


def check(program, folder):
    zeros = os.path.join(folder, "zeros.npy")
    method = json.loads(output_of(NUCLEON, "inspect", program, "--json"))["methods"][0]
    write_zeros(zeros, method["values"][method["inputs"][0]])
    profile = json.loads(output_of(NUCLEON, "run", program, "--input", zeros, "--target", "cortex-m55", "--profile",
                                   "--json"))
    built = output_of("sh", os.path.join(ROOT, "tools/firmware.sh"), program,
                      env=dict(os.environ, NUCLEON=NUCLEON, CPU="cortex-m55",
                               FIRMWARE_BUILD=os.path.join(folder, "firmware")))
    counted = measure(built.split("image ", 1)[1].split("\n", 1)[0])
    sums = [0, 0, 0]
    for row in profile.get("profile", profile)["rows"]:
        if row.get("instruction") not in counted:
            continue
        instructions, vectors = counted[row["instruction"]]
        print("%12d %12d %12d %12d %+6.1f %%  %s" % (instructions, vectors, instructions + vectors, row["cycles"],
              100 * (row["cycles"] / (instructions + vectors) - 1), row["operator"]))
        for i, value in enumerate((instructions, vectors, row["cycles"])):
            sums[i] += value
    error = sums[2] / (sums[0] + sums[1]) - 1
    print("%12d %12d %12d %12d %+6.1f %%  %s" % (sums[0], sums[1], sums[0] + sums[1], sums[2], 100 * error,
                                                 os.path.basename(program)))
    return abs(error) > ALLOWED


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("%12s %12s %12s %12s %8s" % ("instructions", "of vectors", "cycles", "said", "error"))
    with tempfile.TemporaryDirectory() as folder:
        return sum([check(program, folder) for program in sys.argv[1:]]) > 0


sys.exit(main())

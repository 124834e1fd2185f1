#!/usr/bin/python3
"""Self-tests in QEMU and faults in them: selftest.py NUCLEON ROOT [FAULTS]. 77, "skipped", without the Arm toolchain or QEMU.

Images of one network for the NPU and for the Cortex-M33, as program file and as C, pass. Each of FAULTS (24) damages a
weight, the driver's version, the arena, a kernel or the NPU's scratch while the test runs (selftest_faults.c). The node
that the device has to name follows from what 'nucleon inspect' prints, not from the tables of the self-test.
"""
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.dont_write_bytecode = True
from on_board import call, nucleon, root  # noqa: E402
n_faults = int(sys.argv[3]) if len(sys.argv) > 3 else 24


def image(bundle, **more):
    return call('sh', f'{root}/tools/firmware.sh', bundle, SELFTEST='1', FIRMWARE_BUILD=f'{os.getcwd()}/build',
                **more).split()[1]


def device(elf, *words):
    """What the device prints on its serial line."""
    arguments = ','.join(['enable=on', 'target=native', 'chardev=text', 'arg=selftest'] + [f'arg={w}' for w in words])
    done = subprocess.run(['qemu-system-arm', '-M', 'mps2-an505', '-display', 'none', '-monitor', 'none', '-serial',
                           'file:serial.log', '-icount', 'shift=6', '-chardev', 'null,id=text', '-kernel', elf,
                           '-semihosting-config', arguments], timeout=120)
    with open('serial.log') as file:
        text = file.read()
    if (done.returncode == 0) != text.endswith('PASS\n'):
        sys.exit(f'FAIL {elf} {words}: exit code {done.returncode} after {text[-200:]}')
    return text


def compare_on_terminal(text):
    """What compare-device shows of a serial line on which a device says that, slowly, and then nothing more."""
    port, line = os.openpty()
    shown = subprocess.Popen([nucleon, 'compare-device', os.ttyname(line), '--baud', '9600'], stdout=subprocess.PIPE,
                             text=True)
    while termios.tcgetattr(line)[3] & termios.ICANON: # until it is set up
        time.sleep(0.01)
    for i in range(0, len(text), 100):
        os.write(port, text[i:i + 100].encode())
    shown, _ = shown.communicate(timeout=60)
    os.close(port)
    os.close(line)
    return shown


class Program:
    """A bundled program as 'nucleon inspect' prints it."""

    def __init__(self, name, *options):
        self.file = f'{name}.bpte'
        call(nucleon, 'compile', f'{root}/examples/digits/digits.pt2', '--calibration',
             f'{root}/examples/digits/calibration.npz', '-o', self.file, '--self-test', '2', '-q', *options)
        text = call(nucleon, 'inspect', self.file, '--disassemble').split("\nmethod '")[1]
        with open(self.file, 'rb') as file:
            self.bundle = file.read()
        self.base = self.bundle.index(b'ET12') - 4
        self.instructions = [
            (int(number), re.findall(r'\d+', args))
            for number, args in re.findall(r'^    (\d+): \S+(?: \d+)? \[(.*)\]$', text, re.M)
        ]
        self.calls = re.findall(r'^ *call (\d+): (\w+).*@0x(\w+)\n((?: .*\n)*)', text, re.M)
        self.delegate = next((n for n, _ in self.instructions if f'    {n}: delegate' in text), None)
        self.constants = re.findall(r'%(\d+): (\w+)\[([\d, ]*)\] dim order \[[\d, ]*\], constant (\d+)$', text, re.M)
        self.segments = int(re.search(r'segments at (\d+)', call(nucleon, 'inspect', self.file)).group(1))

        size = {'int8': 1, 'uint8': 1, 'int32': 4, 'float32': 4}
        self.places = {}
        for value, dtype, sizes, at in re.findall(r'%(\d+): (\w+)\[([\d, ]*)\] dim order \[[\d, ]*\], memory 1 at (\d+)$',
                                                  text, re.M):
            self.places[value] = int(at), int(at) + size[dtype] * math.prod(int(d) for d in re.findall(r'\d+', sizes))

    def touch(self, a, b):
        (p, q), (r, s) = (self.places.get(v, (0, 0)) for v in (a, b))
        return p < s and r < q

    def reader_of(self, step):
        """The call that reads what another one wrote, maybe as a view, and whether it writes there, too."""
        value = self.instructions[step][1][-1]
        number, args = next((n, a) for n, a in self.instructions[step + 1:]
                            if any(self.touch(v, value) for v in a[:1] + [v for v in a[1:-1] if v != a[-1]]))
        return number, self.touch(args[-1], value)

    def node_of_call(self, call):
        return f'{self.delegate}.{call}'

    def microcode(self):
        at = self.bundle.index(struct.pack('<I', 0x64434D6E), self.base)
        return at, at + (struct.unpack_from('<I', self.bundle, at + 24)[0] + 15) // 16 * 16

    def weights_of_kernel(self, choose, of_file):
        """A byte of the operands of a call that no call before it reads, or of its record; from the file or the payload."""
        microcode, weights = self.microcode()
        number, _, at, fields = choose.choice(self.calls)
        seen = [int(o, 16) for n, _, _, f in self.calls if int(n) < int(number)
                for o in re.findall(r'weights \+ 0x(\w+)', f)]
        own = [o for o in (int(o, 16) for o in re.findall(r'weights \+ 0x(\w+)', fields)) if o not in seen]
        place = weights + choose.choice(own) + choose.randrange(4) if own and choose.random() < 0.8 else \
            microcode + int(at, 16) + choose.randrange(16)
        start = 0 if of_file else self.payload_start(microcode)
        return place - start, self.node_of_call(number)

    def payload_start(self, microcode):
        """Before the microcode: counts and three bytes for each input and output, padded to 16."""
        return microcode - 16

    def weights_of_operator(self, choose):
        size = {'int8': 1, 'int32': 4, 'float32': 4}
        offset, places = 0, {}
        for value, dtype, sizes, number in sorted(self.constants, key=lambda c: int(c[3])):
            bytes_ = size[dtype] * math.prod(int(d) for d in re.findall(r'\d+', sizes))
            offset = (offset + 15) // 16 * 16
            places[value] = (offset, bytes_)
            offset += bytes_
        value = choose.choice(sorted(places))
        reader = next(n for n, args in self.instructions if value in args)
        return self.base + self.segments + places[value][0] + choose.randrange(places[value][1]), str(reader)


def faults(program, elf, is_c, choose):
    """A fault: the words for the image, the cause and the node that it has to name."""
    kinds = ['weights', 'weights', 'result', 'memory'] + (['version', 'kernel', 'scratch'] if program.delegate is not None else [])
    if is_c and program.delegate is None:
        kinds = kinds[2:] # of operators they are arrays without a name
    kind = choose.choice(kinds)
    byte = choose.randrange(1 << 16)
    if kind == 'weights':
        place, node = program.weights_of_kernel(choose, not is_c) if program.delegate is not None \
            else program.weights_of_operator(choose)
        return (kind, place, 1 << choose.randrange(8)), 'weights', node
    if kind == 'version':
        return (kind, 0, 0), 'driver', str(program.delegate)
    if kind in ('result', 'memory'):
        last = len(program.instructions) - (kind == 'memory')
        step = choose.randrange(last)
        if kind == 'result':
            return (kind, step, byte), kind, str(program.instructions[step][0])
        number, over = program.reader_of(step) # in memory that a call writes over it cannot tell what it read
        return (kind, step, byte), 'result' if over else kind, str(number)
    number, _, _, fields = choose.choice(
        [c for c in program.calls if kind == 'kernel' or re.search(r'^ +(?:input|a) +scratch', c[3], re.M)])
    if kind == 'kernel':
        return (kind, number, byte), 'result', program.node_of_call(number)
    offset = int(re.search(r'^ +(?:input|a) +scratch \+ 0x(\w+)', fields, re.M).group(1), 16)
    return (kind, number, offset), 'result', program.node_of_call(number)


def main():
    programs = [Program('digits'), Program('digits_m33', '--target', 'cortex-m33')]
    images = [(p, is_c) for p in programs for is_c in (False, True)]
    more = {True: {'GENERATED': '1'}, False: {}}
    for p, is_c in images:
        text = device(image(p.file, **more[is_c]))
        if not text.endswith('PASS\n'):
            sys.exit(f'FAIL {p.file}: {text[-300:]}')
        shown = compare_on_terminal('Booting...\r\n' + text.replace('\n', '\r\n'))
        if not shown.endswith(': PASS: every node leaves what the simulator computes\n'):
            sys.exit(f'FAIL compare-device: {shown}')
    damaged = [(p, is_c, image(p.file, FAULTS=f'{root}/test/e2e/selftest_faults.c', **more[is_c])) for p, is_c in images]
    choose = random.Random(37)
    counts, wrong = {}, 0
    for i in range(n_faults):
        p, is_c, elf = damaged[i % len(damaged)]
        words, cause, node = faults(p, elf, is_c, choose)
        last = device(elf, *words).splitlines()[-1]
        found = re.fullmatch(r'FAIL (\w+)(?: code \w+)?(?: from \d+)? node \d+: (\S+) .*', last)
        good = found is not None and found.groups() == (cause, node)
        counts[words[0]] = counts.get(words[0], 0) + 1
        wrong += not good
        if not good:
            print(f'{os.path.basename(elf)} {words}: {last}, not {cause} at {node}')
    kinds = ', '.join(f'{kind} {n}' for kind, n in sorted(counts.items()))
    print(f'{n_faults - wrong} of {n_faults} faults are named at their node: {kinds}')
    sys.exit(wrong > 0)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()

#!/usr/bin/python3
"""Data that look right and are not, and programs that are damaged: doubtful.py NUCLEON ROOT

Each row changes the digits' test or calibration data and says what the note or the refusal must say; the data as they are
give none. Then bits of programs are flipped: each is found by `run`.
"""
import os
import random
import subprocess
import sys
import tempfile

import numpy

nucleon, root = sys.argv[1:3]
digits = os.path.join(os.path.abspath(root), 'examples', 'digits')
nucleon = os.path.abspath(nucleon)
test = dict(numpy.load(f'{digits}/test.npz'))
calibration = dict(numpy.load(f'{digits}/calibration.npz'))
x, labels, few = test['input'], test['label'], calibration['input']
failures = []


def changed(array, where, value):
    copy = array.copy()
    copy[where] = value
    return copy


def call(*args):
    done = subprocess.run([nucleon, *args], capture_output=True, text=True)
    return done.returncode, done.stderr


def check(what, wanted_code, wanted, code, said):
    notes = [line for line in said.splitlines() if line.startswith('nucleon: ')]
    if code != wanted_code or (wanted is None and notes) or (wanted is not None and wanted not in said):
        failures.append(what)
        print(f'{what}: exit code {code}, wanted {wanted_code} and {wanted!r}:\n{said}')


one = (3, 0, 2, 2)
EVALUATED = [  # what, arrays, what the note says; None: there is none
    ('as they are', {'input': x, 'label': labels}, None),
    ('one NaN', {'input': changed(x, one, numpy.nan), 'label': labels}, 'has NaN (1), the first in sample 3'),
    ('infinity', {'input': changed(x, one, numpy.inf), 'label': labels}, 'has infinity (1), the first in sample 3'),
    ('half as much again', {'input': x * 1.5, 'label': labels}, 'what is beyond is clipped'),
    ('twice as much', {'input': x * 2, 'label': labels}, 'what is beyond is clipped'),
    ('labels of one class', {'input': x, 'label': labels * 0 + 3}, 'all 360 labels are class 3'),
    ('targets that are no numbers', {'input': x, 'label': numpy.full((len(x), 10), numpy.nan)}, "'label' has NaN"),
    ('samples of one class', {'input': x[labels == 3], 'label': labels[labels == 3]}, 'labels are class 3'),
    ('labels of other samples', {'input': x, 'label': numpy.roll(labels, 7)}, 'right than by chance'),
    ('calibration data', {'input': few}, 'has samples that calibration had'),
    ('calibration data among others', {'input': numpy.concatenate([x, few])}, 'has samples that calibration had'),
]
COMPILED = [  # what, arrays, exit code, text
    ('as it is', few, 0, None),
    ('NaN', changed(few, one, numpy.nan), 1, 'in calibration sample 3 of data.npz'),
    ('infinity', changed(few, one, numpy.inf), 0, 'has infinity (1), the first in sample 3'),
    ('pixels', few * 255, 0, 'has values of 0 to 255, as pixels'),
    ('one sample', few[:1], 0, 'one sample: ranges are those of it alone'),
    ('samples of one class', {'input': few, 'label': numpy.full(len(few), 3)}, 0, 'samples are of one class'),
]

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    code, said = call('compile', f'{digits}/digits.pt2', '--calibration', f'{digits}/calibration.npz', '-o', 'd.pte')
    check('compile', 0, None, code, said)
    for what, arrays, text in EVALUATED:
        numpy.savez('data.npz', **arrays)
        check(f'evaluate {what}', 0, text, *call('evaluate', 'd.pte', '--dataset', 'data.npz'))
        of_values = text is not None and ('in sample' in text or 'beyond' in text)
        check(f'run {what}', 0, text if of_values else None, *call('run', 'd.pte', '-i', 'data.npz', '-o', 'out.npz'))
    for what, arrays, wanted_code, text in COMPILED:
        numpy.savez('data.npz', **(arrays if isinstance(arrays, dict) else {'input': arrays}))
        check(f'compile {what}', wanted_code, text,
              *call('compile', f'{digits}/digits.pt2', '--calibration', 'data.npz', '-o', 'x.pte'))
    # Of a part of the samples, too, the number is that of the file.
    numpy.savez('data.npz', input=changed(few, (4, 0, 2, 2), numpy.nan))
    check('tune NaN', 1, 'in calibration sample 4 of data.npz',
          *call('tune', f'{digits}/digits.pt2', '--for', 'sqnr', '--calibration', 'data.npz'))
    numpy.savez('data.npz', input=x)
    check('the reference is another network', 0, 'have nothing in common with its own',
          *call('evaluate', 'd.pte', '--dataset', 'data.npz', '--reference', f'{digits}/digits_unsupported.pt2'))

    draw = random.Random(1)
    for options in ([], ['--target', 'cortex-m33'], ['--no-quantize']):
        samples = [] if '--no-quantize' in options else ['--calibration', f'{digits}/calibration.npz']
        call('compile', f'{digits}/digits.pt2', *samples, *options, '-o', 'd.pte')
        sound = open('d.pte', 'rb').read()
        for _ in range(60):
            bit = draw.randrange(8 * len(sound))
            damaged = bytearray(sound)
            damaged[bit // 8] ^= 1 << bit % 8
            with open('damaged.pte', 'wb') as f:
                f.write(damaged)
            code, said = call('run', 'damaged.pte', '-i', 'data.npz', '-o', 'out.npz')
            if code == 0 and 'checksum' not in said:
                failures.append(f'bit {bit}')
                print(f'{options}: bit {bit} is flipped and nothing is said')

sys.exit(1 if failures else 0)

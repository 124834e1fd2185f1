#!/usr/bin/python3
"""Axes of a sensor as they are, in front of the tutorial's network: values.py NUCLEON ROOT

What a .csv file holds gives the outputs of the network without a front end on values that are normalised here; windows
overlap where the description says so; what cannot be is refused.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy

nucleon, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
model = f'{root}/examples/tutorial/motion.pt2'
os.chdir(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp())


def call(*args, code=0):
    done = subprocess.run([nucleon, *args, '-q'], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f'{" ".join(args)}: exit code {done.returncode} instead of {code}: {done.stderr}')
    return done.stderr


def outputs(data, front_end, *options):
    given = ['--front-end', json.dumps({'values': front_end})] if front_end is not None else []
    call('compile', model, '-o', 'p.pte', *given, *options)
    call('run', 'p.pte', '--input', data, '--output', 'out.npz')
    return numpy.load('out.npz')['out0']


def write(name, rows, form):
    numpy.savetxt(name, rows, form, delimiter=',', header='x,y,z', comments='')


values = numpy.load(f'{root}/examples/tutorial/samples.npz')['motion'] # [64, 3, 64], about 1 wide
mean, std = numpy.float32([[10], [-200], [1000]]), numpy.float32([[2000], [1500], [3000]])
counts = numpy.round(values * std + mean).astype(numpy.int16)
numpy.save('normalised.npy', (counts.astype(numpy.float32) - mean) * (numpy.float32(1) / std))
rows = counts.transpose(0, 2, 1).reshape(-1, 3)
write('counts.csv', rows, '%d')
write('reals.csv', rows, '%.1f')
front_end = {'axes': 3, 'mean': mean.ravel().tolist(), 'std': std.ravel().tolist()}
for options in (['--no-quantize'], ['--calibration', '{}', '--target', 'imxrt700']):
    got = []
    for data, description in (('normalised.npy', None), ('counts.csv', front_end), ('reals.csv', {**front_end, 'type': 'float32'})):
        got.append(outputs(data, description, *(o.format(data) for o in options)))
    assert got[0].shape == (64, 1, 4) and len(numpy.unique(got[0])) > 8, got[0].shape
    assert all(numpy.array_equal(got[0], g) for g in got[1:]), options
    whole = got[0] if options[0] == '--no-quantize' else whole

# Windows that begin every 16 rows: each fourth is one of those that do not overlap.
halves = outputs('counts.csv', {**front_end, 'step': 16}, '--no-quantize')
assert len(halves) == (64 * 64 - 64) // 16 + 1 and numpy.array_equal(halves[::4], whole)
assert not numpy.array_equal(halves[1:-1:4], whole[:-1])

# A row for each point of time in the model, one number for all axes.
for members, said in (({'axes': 4}, 'makes points of time of 4 axes, and the input'),
                      ({'axes': 3, 'std': [1, 2]}, 'has 2 numbers: give one, or one for each of 3 axes'),
                      ({'axes': 3, 'std': [1, 0, 1]}, 'std[1]: is 0'), ({'axes': 3, 'mean': 'x'}, 'mean'),
                      ({'axes': 3, 'step': 65}, 'step: is 65: 1 to 64 are taken'),
                      ({'axes': 3, 'type': 'int8'}, "'int8' is none of: int16, float32"), ({'axis': 3}, "did you mean 'axes'")):
    error = call('compile', model, '-o', 'p.pte', '--no-quantize', '--front-end', json.dumps({'values': members}), code=1)
    assert said in error and error.count('\n') == 1, (members, error)
print('ok')

#!/usr/bin/python3
"""Operators of LiteRT Micro's integration tests against their golden data.

    litert_files.py NUCLEON FOLDER... [--target cortex-m33]

FOLDER, below tensorflow/lite/micro/integration_tests of LiteRT Micro, has NAME.tflite, NAME_inputN_TYPE.csv and
NAME_golden_TYPE.csv. Each model is compiled and run; every byte has to be that of the golden data. A line for each
folder and each model that differs, then their number. Exit code 0 when all are equal. Needs python3-numpy.
"""
import argparse, glob, os, re, subprocess, sys, tempfile
import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('nucleon')
parser.add_argument('folders', nargs='+', metavar='FOLDER')
parser.add_argument('--target', default='cortex-m33')
args = parser.parse_args()


def call(*command):
    done = subprocess.run([args.nucleon, *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError((done.stderr.strip() or 'exit code %d' % done.returncode).splitlines()[-1])
    return done.stdout


def read(path):
    return np.loadtxt(path, delimiter=',', dtype=re.search(r'_(\w?int\d+)\.csv$', path).group(1), ndmin=1).ravel()


def input_shapes(model):
    """Sizes of the inputs, in their order."""
    text = call('inspect', model)
    names = re.search(r'^  inputs (.*)$', text, re.M).group(1).split(', ')
    sizes = {n: s for n, s in re.findall(r'^  (%\d+) \w+\[([\d, ]*)\]', text, re.M)}
    return [[int(s) for s in sizes[n].split(', ') if s] for n in names]


def difference(model, folder):
    """What is wrong with a model's results; None: nothing."""
    stem, program = model[:-len('.tflite')], os.path.join(folder, 'x.pte')
    arrays = [read(p) for p in sorted(glob.glob(stem + '_input?_*.csv'))]
    golden = read(glob.glob(stem + '_golden_*.csv')[0])
    try:
        call('compile', model, '-o', program, '--target', args.target)
        np.savez(os.path.join(folder, 'in.npz'),
                 **{'in%d' % i: a.reshape(s) for i, (a, s) in enumerate(zip(arrays, input_shapes(model)))})
        call('run', program, '--input', os.path.join(folder, 'in.npz'), '--output', os.path.join(folder, 'out.npz'))
    except ValueError as refused:
        return str(refused)
    with np.load(os.path.join(folder, 'out.npz')) as out:
        got = out[out.files[0]].ravel()
    if got.dtype != golden.dtype or got.size != golden.size:
        return '%d of %s, not %d of %s' % (got.size, got.dtype, golden.size, golden.dtype)
    return '%d of %d values differ' % ((got != golden).sum(), got.size) if (got != golden).any() else None


total = equal = 0
with tempfile.TemporaryDirectory() as folder:
    for parent in args.folders:
        models = sorted(m for m in glob.glob(os.path.join(parent, '*.tflite')) if glob.glob(m[:-7] + '_golden_*.csv'))
        found = [(os.path.basename(m), difference(m, folder)) for m in models]
        good = sum(d is None for _, d in found)
        print('%-20s %3d of %3d equal' % (os.path.basename(os.path.normpath(parent)), good, len(found)))
        for name, text in found:
            if text is not None:
                print('  %s: %s' % (name, text))
        total, equal = total + len(found), equal + good
print('%d of %d models give the golden bytes' % (equal, total))
sys.exit(0 if total > 0 and equal == total else 1)

#!/usr/bin/python3
"""What options of 'nucleon compile' do to samples that quantization has not seen, where all there is is one small set.

    halves.py NUCLEON MODEL.pt2 SAMPLES.npz [OPTIONS]... [--divisions N]

The samples are divided into halves at random N times; one half calibrates, the other is evaluated. A row for each of
OPTIONS, each one argument ('' is none): the mean SQNR in dB against the float model, and that of each division.
"""
import argparse, json, os, subprocess, sys, tempfile
import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                 allow_abbrev=False)
parser.add_argument('nucleon')
parser.add_argument('model', metavar='MODEL.pt2')
parser.add_argument('samples', metavar='SAMPLES.npz')
parser.add_argument('--divisions', type=int, default=8, metavar='N')
args, rows = parser.parse_known_args()

try:
    samples = np.load(args.samples)
except (OSError, ValueError) as error:
    sys.exit('%s: is no .npz that can be read: %s' % (args.samples, error))
count = len(samples[samples.files[0]])
if count < 2 or any(len(samples[name]) != count for name in samples.files):
    sys.exit('%s: has to have at least two samples of each input, as many of one as of another' % args.samples)


def run(*arguments):
    result = subprocess.run([args.nucleon, *arguments], capture_output=True, text=True)
    if result.returncode:
        sys.exit(result.stderr.strip())
    return result.stdout


def sqnr(folder, half, options):
    """SQNR of a program that HALF of the samples calibrates, on the other half."""
    seen, others, program = (os.path.join(folder, name) for name in ('seen.npz', 'others.npz', 'x.pte'))
    np.savez(seen, **{name: samples[name][half] for name in samples.files})
    rest = np.setdiff1d(np.arange(count), half)
    np.savez(others, **{name: samples[name][rest] for name in samples.files})
    run('compile', args.model, '--calibration', seen, '-o', program, '-q', *options.split())
    return json.loads(run('evaluate', program, '--dataset', others, '--reference', args.model, '--json'))['sqnr_db']


halves = [np.random.default_rng(division).permutation(count)[:count // 2] for division in range(args.divisions)]
with tempfile.TemporaryDirectory() as folder:
    for options in rows or ['']:
        figures = [float(sqnr(folder, half, options)) for half in halves]
        print('%-28s %5.1f  of%s' % (options or 'none', np.mean(figures), ''.join(' %5.1f' % f for f in figures)), flush=True)

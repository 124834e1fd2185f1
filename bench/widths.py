#!/usr/bin/python3
"""What wider values bring: networks compiled by default, with mixed values, and with int16 activations.

    widths.py NUCLEON FOLDER... [--target cortex-m33] [--markdown]

Below FOLDER, NAME/NAME.pt2 is a network, NAME.calib.npz its calibration samples, NAME.test.npz others. A row for each
network, with three figures for each width: dB of all outputs that hold floats together, of the test samples against the
float program; thousands of cycles; KiB of the arena. Last come how often mixed gains 3 dB, the median gain of int16,
and the geometric means of its cycles and memory. --markdown prints rows of docs/quantization.md. Needs python3-numpy.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile
import numpy as np

WIDTHS = [('default', []), ('mixed', ['--activations', 'mixed']), ('int16', ['--activations', 'int16'])]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('nucleon')
parser.add_argument('folders', nargs='+', metavar='FOLDER')
parser.add_argument('--target', default='cortex-m33')
parser.add_argument('--markdown', action='store_true')
args = parser.parse_args()


def outputs(path, options, folder):
    """What a program gives for the test samples, and what compile says of it; None where it is refused."""
    program, results = os.path.join(folder, 'x.pte'), os.path.join(folder, 'x.npz')
    made = subprocess.run([args.nucleon, 'compile', path + '.pt2', '-o', program, '--target', args.target, '--json', *options],
                          capture_output=True, text=True)
    if made.returncode != 0:
        return None
    run = [args.nucleon, 'run', program, '--input', path + '.test.npz', '--output', results]
    if subprocess.run(run, capture_output=True).returncode != 0:
        return None
    with np.load(results) as arrays:
        return [arrays[k].astype(np.float64) for k in arrays.files if arrays[k].dtype.kind == 'f'], json.loads(made.stdout)


def figures(path, folder):
    """[(dB, cycles, bytes)] of each width; None where a program is refused or no output holds floats."""
    wanted = outputs(path, ['--no-quantize'], folder)
    rows = []
    for _, options in WIDTHS:
        got = wanted and outputs(path, ['--calibration', path + '.calib.npz', *options], folder)
        if not got or not wanted[0] or len(got[0]) != len(wanted[0]):
            return None
        signal = sum((w ** 2).sum() for w in wanted[0])
        error = sum(((g - w) ** 2).sum() for g, w in zip(got[0], wanted[0]))
        if not np.isfinite(error) or signal == 0:
            return None
        rows.append((min(100.0, 10 * np.log10(signal / max(error, 1e-30))), got[1]['cycles'],
                     got[1]['arena_bytes']))
    return rows


def text(row):
    return '%.1f dB, %s, %.1f' % (row[0], format(round(row[1] / 1000), ','), row[2] / 1024)


def mean(ratios):
    return statistics.geometric_mean(ratios)


found = []
with tempfile.TemporaryDirectory() as folder:
    for parent in args.folders:
        for name in sorted(os.listdir(parent)):
            path = os.path.join(parent, name, name)
            rows = figures(path, folder) if os.path.exists(path + '.pt2') else None
            if rows is None:
                continue
            found.append(rows)
            if args.markdown:
                print('| %s | %s |' % (name, ' | '.join(map(text, rows))), flush=True)
            else:
                print('%-20s' % name + ''.join('%24s' % text(row) for row in rows), flush=True)
if not found:
    sys.exit('%s: no network with calibration and test samples' % ' '.join(args.folders))
default, mixed, wide = zip(*found)
print('%d networks: mixed at least 3 dB above default in %d, at most %.1f %% more cycles' % (
    len(found), sum(m[0] - d[0] >= 3 for d, m in zip(default, mixed)),
    100 * max(m[1] / d[1] - 1 for d, m in zip(default, mixed))))
print('int16: %.1f dB more in the median, %.2f of the cycles, %.2f of the memory' % (
    statistics.median(w[0] - d[0] for d, w in zip(default, wide)), mean(w[1] / d[1] for d, w in zip(default, wide)),
    mean(w[2] / d[2] for d, w in zip(default, wide))))

#!/usr/bin/python3
"""The SQNR that 'nucleon compile' prints beside that of the program on data that quantization has not seen.

    printed_sqnr.py NUCLEON FOLDER... [--options 'OPTIONS OF compile']

Below FOLDER, NAME/NAME.pt2 is a network, NAME.calib.npz its calibration samples, NAME.test.npz others. A row for each
network: of its outputs that hold floats the one whose figure is farthest off. Last come the median of the differences
without their signs, and the largest one.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('nucleon')
parser.add_argument('folders', nargs='+', metavar='FOLDER')
parser.add_argument('--options', default='', help='of nucleon compile')
args = parser.parse_args()


def call(*arguments):
    result = subprocess.run([args.nucleon, *arguments, '--json'], capture_output=True, text=True)
    return json.loads(result.stdout) if result.returncode == 0 else None


EQUAL = 100  # dB: what float32 leaves of a difference


def off(printed, measured):
    """What is printed less what is measured."""
    return min(printed, EQUAL) - min(measured, EQUAL)


def figures(path, program):
    """(printed, measured, output) of each output that has both."""
    made = call('compile', path + '.pt2', '--calibration', path + '.calib.npz', '-o', program, *args.options.split())
    if made is None or made.get('quantization') is None:
        return []
    tested = call('evaluate', program, '--dataset', path + '.test.npz', '--reference', path + '.pt2')
    if tested is None:
        return []
    rows = []
    for said, found in zip(made['quantization']['outputs'], tested['outputs']):
        measured = (found.get('against_reference') or {}).get('sqnr_db')
        if said.get('sqnr_db') is not None and measured is not None:
            rows.append((float(said['sqnr_db']), float(measured), said))
    return rows


differences, below = [], 0
print('%-24s %-22s %7s %8s %7s %7s %8s %6s' % (
    'network', 'output', 'samples', 'printed', 'lowest', 'highest', 'measured', 'off'))
with tempfile.TemporaryDirectory() as folder:
    for parent in args.folders:
        for name in sorted(os.listdir(parent)):
            path = os.path.join(parent, name, name)
            rows = figures(path, os.path.join(folder, 'x.pte')) if os.path.exists(path + '.pt2') else []
            if not rows:
                continue
            printed, measured, said = max(rows, key=lambda row: abs(off(*row[:2])))
            differences.append(off(printed, measured))
            low, high = float(said['sqnr_lowest_db']), float(said['sqnr_highest_db'])
            below += measured < low - 3
            print('%-24s %-22s %7d %8.1f %7.1f %7.1f %8.1f %+6.1f' % (
                name, said['name'][:22], said['held_out'], printed, low, high, measured, differences[-1]), flush=True)
if not differences:
    sys.exit('%s: no network with calibration and test samples' % ' '.join(args.folders))
print('%d networks: median of the differences without sign %.2f dB, median difference %+.2f dB' % (
    len(differences), statistics.median(abs(d) for d in differences), statistics.median(differences)))
print('more than 3 dB too high %d, too low %d; measured more than 3 dB below the lowest %d' % (
    sum(d > 3 for d in differences), sum(d < -3 for d in differences), below))

#!/usr/bin/python3
"""What explain says a fix saves is what it saves: fixes.py NUCLEON MODEL|FOLDER... [--target T,T]

Each fix that explain shows is applied by its option, and the model compiled, or explained again where there are no
samples to compile it with. The cycles saved differ by no more than a tenth from those that were said, and the SQNR is the
one that compile prints. Samples are found as by cycles.py, which shows that both commands say the same.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument('nucleon')
parser.add_argument('models', nargs='+')
parser.add_argument('--target', default='imxrt700,imxrt700cm')
given = parser.parse_args()


def models_in(path):
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(folder, name) for folder, _, names in sorted(os.walk(path)) for name in sorted(names)
            if name.endswith(('.pt2', '.tflite'))]


def samples_of(model):
    base = os.path.splitext(model)[0]
    for path in (base + '.calib.npz', base + '.cal.npz', os.path.join(os.path.dirname(model), 'calibration.npz')):
        if os.path.exists(path):
            return ['--calibration', path]
    return []


def call(*args):
    return json.loads(subprocess.run([given.nucleon, *args, '--json'], capture_output=True, text=True).stdout)


def explain(model, options):
    return call('explain', model, *options, *samples_of(model))


def lowest_sqnr(made):
    """Of the float outputs on held-out samples; None: not measured."""
    outputs = (made.get('quantization') or {}).get('outputs') or []
    return min((float(o['sqnr_db']) for o in outputs if o['float'] and o['held_out'] > 0), default=None)


def made_with(model, options, program):
    """Cycles, or the message of the refusal; SQNR or None."""
    if samples_of(model):
        after = call('compile', model, *options, *samples_of(model), '-o', program)
        return (after['cycles'], lowest_sqnr(after)) if after['error'] is None else (after['error']['message'], None)
    after = explain(model, options)
    return (after['summary']['cycles'] if after['error'] is None else after['error']['message']), None


compared = wrong = 0
work = tempfile.TemporaryDirectory()
for path in [m for given_path in given.models for m in models_in(given_path)]:
    for to in given.target.split(','):
        own = ['--target', to]
        before = explain(path, own)
        if before.get('error') is not None:
            continue
        for node in before['nodes']:
            if node['fix'] is not None and "'nucleon ops'" in node['fix']['text']:
                wrong += 1
                print(f'FAIL {path} for {to}: a fix sends to a list: {node["fix"]["text"]}')
        for fix in before['fixes']:
            if fix['option'] is None:  # what was not given cannot be left out
                continue
            option = fix['option'].split()
            after, sqnr = made_with(path, option if option[0] == '--target' else own + option,
                                    os.path.join(work.name, 'program.pte'))
            compared += 1
            saved = before['summary']['cycles'] - after if isinstance(after, int) else after
            if isinstance(saved, str) or abs(saved - fix['saved_cycles']) > 0.1 * fix['saved_cycles']:
                wrong += 1
                print(f'FAIL {path} for {to}: {fix["option"]} is said to save {fix["saved_cycles"]} cycles: {saved}')
            elif sqnr is not None and fix['sqnr_db'] is not None and abs(float(fix['sqnr_db']) - sqnr) > 0.1:
                wrong += 1
                print(f'FAIL {path} for {to}: {fix["option"]} is said to have {fix["sqnr_db"]} dB: {sqnr}')
print(f'fixes: {compared} applied, {wrong} wrong')
sys.exit(wrong > 0 or compared == 0)

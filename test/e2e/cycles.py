#!/usr/bin/python3
"""What explain says adds up, and every command says the same: cycles.py NUCLEON MODEL|FOLDER... [--target T,T]

Of each model (.pt2, .tflite), for each target: the cycles of explain's nodes and boundaries are those of its summary, and
those of report, of the program that compile makes, and of its profile; each operator has as many in report as in explain.
They count the same operators, of which those on the CPU compute in int8, int16, integers or float.
Samples are NAME.calib.npz, NAME.cal.npz or calibration.npz next to a model. A model that explain refuses is left out.
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
parser.add_argument('--target', default='imxrt700,imxrt700cm,cortex-m33')
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
    done = subprocess.run([given.nucleon, *args, '--json'], capture_output=True, text=True)
    return json.loads(done.stdout)


def rows(tree):
    return sum(r['cycles'] for r in tree['nodes']) + sum(b['cycles'] for b in tree['boundaries'])


ON_CPU = ('cpu_int8', 'cpu_int16', 'cpu_integers', 'cpu_float')


def counts_of(tree):
    return [tree[name] for name in ('operators', 'on_cpu', *ON_CPU)]


def complaints(model, target, folder):
    samples = samples_of(model)
    common = [model, '--target', target, *samples]
    explained = call('explain', *common)
    if explained['error'] is not None:
        return
    cycles = explained['summary']['cycles']
    if rows(explained) != cycles:
        yield f'rows of explain have {rows(explained)} cycles, its summary {cycles}'
    report = call('report', *common)
    if report.get('error') is not None:
        yield f'report fails: {report["error"]["message"]}'
        return
    if report['summary']['cycles'] != cycles:
        yield f'report has {report["summary"]["cycles"]} cycles, explain {cycles}'
    if rows(report) != cycles:
        yield f'rows of report have {rows(report)} cycles, its summary {cycles}'
    counted = explained['summary']
    on_cpu = counted['operators'] - counted['delegated']
    wide = [counted[name] for name in ('in_int16', 'in_integers', 'in_float')]
    counts = [counted['operators'], on_cpu, on_cpu - sum(wide), *wide]
    if counts_of(report['summary']) != counts:
        yield f'report counts {counts_of(report["summary"])} operators, on the CPU, there in int8, int16, integers, float, explain {counts}'
    reported = {n['name']: n['cycles'] for n in report['nodes'] if n['operator'] not in ('input', 'output')}
    for node in explained['nodes']:
        if reported.get(node['name'], node['cycles']) != node['cycles']:
            yield f'{node["label"]}: {reported[node["name"]]} cycles in report, {node["cycles"]} in explain'
    program = os.path.join(folder, 'program.pte')
    compiled = call('compile', *common, '-o', program)
    if compiled['error'] is not None:  # a float model without samples
        return
    if compiled['cycles'] != cycles:
        yield f'compile has {compiled["cycles"]} cycles, explain {cycles}'
    if counts_of(compiled) != counts:
        yield f'compile counts {counts_of(compiled)} operators, on the CPU, there in int8, int16, integers, float, explain {counts}'
    if not samples:
        return
    profile = call('run', program, '--input', samples[1], '--profile', '--target', target)
    if profile['error'] is None and profile['profile']['cycles'] != cycles:
        yield f'run --profile has {profile["profile"]["cycles"]} cycles, explain {cycles}'


compared = different = 0
with tempfile.TemporaryDirectory() as work:
    for path in [m for given_path in given.models for m in models_in(given_path)]:
        for to in given.target.split(','):
            found = list(complaints(path, to, work))
            compared += 1
            different += len(found) > 0
            for line in found:
                print(f'FAIL {path} for {to}: {line}')
print(f'cycles: {compared} compared, {different} differ')
sys.exit(different > 0 or compared == 0)

"""Numbers of an example, for run.sh, in the folder of its results.

    measure.py input EXAMPLE all|N           writes test samples as the firmware reads them: input.npy, input.bin
    measure.py header EXAMPLE TARGET         prints what the firmware's application includes
    measure.py page EXAMPLE TARGET...        prints the page, writes figures.txt: a line "COLUMN FIGURE VALUE" for each

DATA in the environment is the folder of the data, TEST what is tested with. EXAMPLE/measure.py, where there is one, replaces result(), figures(), log_figures() and header() below.
"""
import importlib.util
import json
import os
import re
import sys
import wave

import numpy as np


HOP = 0  # samples of a step, of a recording that is a stream


def result(x, y):
    """what is judged, of inputs and outputs of samples; the firmware writes the same"""
    return y


def figures(results, data):
    """{name: (number, text)} of the results on all sets of data, {'test': array, ...}"""
    test = results['test']
    right = test.reshape(len(test), -1).argmax(1) == data['test']['label'][:len(test)]
    return {'accuracy': percent(right.mean())}


def float_figures():
    """of the float model, from evaluate.json; None: of what the float program computes"""
    classes = json.load(open('evaluate.json'))['outputs'][0]['classes']
    return {'accuracy': percent(classes['reference']['accuracy'])}


def percent(share):
    return 100 * share, '%.2f %%' % (100 * share)


def decision_figures(column):
    """of what the program of a column decides, from COLUMN.evaluate.json"""
    return {}


def log_figures(log):
    """of these, those that the firmware prints itself"""
    return {}


def header(results, data):
    """text of example.h, which an application in C includes"""
    return ''


def own(example):
    """this module with what the example replaces"""
    module = sys.modules[__name__]
    path = os.path.join(example, 'measure.py')
    if os.path.exists(path):
        spec = importlib.util.spec_from_file_location('example_measure', path)
        theirs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(theirs)
        module.float_figures = lambda: None
        for name in ('HOP', 'result', 'figures', 'decision_figures', 'log_figures', 'header'):
            setattr(module, name, getattr(theirs, name, getattr(module, name)))
    return module


def sound(path):
    with wave.open(path) as file:
        return np.frombuffer(file.readframes(file.getnframes()), '<i2')


def labelled_recordings(example, path):
    """of a folder for each class, as long as the program's input, as the program takes them"""
    classes = open(os.path.join(example, 'classes.txt')).read().split()
    length = json.load(open(os.path.join(example, 'front_end.json')))['audio']['samples']
    folders = sorted(n for n in os.listdir(path) if os.path.isdir(os.path.join(path, n)))
    files = [(os.path.join(path, n, f), n) for n in folders for f in sorted(os.listdir(os.path.join(path, n))) if f.lower().endswith('.wav')]
    unknown = [n for _, n in files if n not in classes]
    if not files or unknown:
        sys.exit('measure.py: %s: %s: put .wav files in folders that are named as the classes: %s' % (
            path, 'holds %s' % unknown[0] if unknown else 'holds no recordings of classes', ', '.join(classes)))
    x = [sound(f)[:length] for f, _ in files]
    return {'input': np.stack([np.pad(r, (0, length - len(r))) for r in x]), 'label': np.array([classes.index(n) for _, n in files])}


def test_data(example):
    """arrays of TEST: those of a file, recordings in a folder for each class, or the steps of a recording"""
    path = os.environ['TEST']
    if path.endswith('.npz'):
        return dict(np.load(path))
    if os.path.isdir(path):
        return labelled_recordings(example, path)
    x, hop = sound(path), own(example).HOP
    return {'input': x[:len(x) // hop * hop].reshape(-1, hop)}


def data_sets(example):
    folder = os.environ['DATA']
    names = [n[:-4] for n in os.listdir(folder) if n.endswith('.npz') and n not in ('calibration.npz', 'test.npz')]
    sets = {n: dict(np.load(os.path.join(folder, n + '.npz'))) for n in names}
    return dict(sorted({**sets, 'test': test_data(example)}.items()))


def inputs(arrays):
    return next(arrays[n] for n in ('input', 'frame', 'samples') if n in arrays)


def results_of(column, data, measure):
    """of a program on the host, for all sets"""
    outputs = {n: np.load('%s.%s.npz' % (column, n)) for n in data}
    return {n: measure.result(inputs(data[n]), next(iter(outputs[n].values()))) for n in data}


def firmware_results(target, program):
    """of the firmware on the first test samples; they are the program's, or this ends"""
    wanted = program['test'][:len(np.load('input.npy', mmap_mode='r'))]
    got = np.fromfile(target + '.bin', wanted.dtype) if os.path.exists(target + '.bin') else np.empty(0, wanted.dtype)
    if got.tobytes() != wanted.tobytes():
        sys.exit('measure.py: %s: the firmware gives other results than the program: see %s.log' % (target, target))
    got = got.reshape(wanted.shape)
    return dict(program, test=got)


def image(target):
    """code and program in flash, and instructions of an inference, from what building and running it printed"""
    sizes = re.search(r'flash without the program (\d+), program (\d+)', open(target + '.image').read())
    executed = re.search(r'execution instructions (\d+)', open(target + '.log').read())
    return int(sizes[1]) + int(sizes[2]), executed and int(executed[1])


def columns(example, targets, measure):
    """{column: {row: (number, text)}}"""
    data = data_sets(example)
    table = {}
    for column in ['float'] + targets:
        facts = json.load(open(column + '.json'))
        known = measure.float_figures() if column == 'float' else None
        program = results_of(column, data, measure) if known is None else None
        rows = {name + ', program': value for name, value in (known or measure.figures(program, data)).items()}
        rows.update({name + ', program': value for name, value in measure.decision_figures(column).items()})
        has_firmware = os.path.exists(column + '.image')  # an installed copy makes none
        if has_firmware:
            board = firmware_results(column, program)
            told = dict(measure.figures(board, data), **measure.log_figures(open(column + '.log').read()))
            rows.update({name + ', firmware': value for name, value in told.items()})
            rows['samples in QEMU'] = count(len(board['test']))
        rows['operators on the NPU'] = facts['on_npu'], '%d of %d' % (facts['on_npu'], facts['operators'])
        rows['latency'] = facts['latency_us'], '%s us' % format(round(facts['latency_us']), ',')
        scratch = 0 if facts['scratch_in_arena'] else facts['scratch_bytes']
        rows['memory'] = count(facts['arena_bytes'] + scratch)
        rows['program bytes'] = count(facts['program_bytes'])
        if has_firmware:
            flash, executed = image(column)
            rows['flash of the image'] = count(flash)
            if facts['on_npu'] == 0 and executed:
                rows['instructions in QEMU'] = count(executed)
        table[column] = rows
    return table, data


def count(n):
    return n, format(n, ',')


def page(example, targets):
    table, data = columns(example, targets, own(example))
    names = []
    for rows in table.values():
        names += [n for n in rows if n not in names]
    # Figures of firmware next to those of programs, costs after both.
    names.sort(key=lambda n: (', ' not in n, n.split(', ')[0] if ', ' in n else '', n.endswith('firmware')))
    widest = max(map(len, names))
    print('%s: %s held-out samples' % (os.path.basename(example), format(len(inputs(data['test'])), ',')))
    print(' ' * widest + ''.join('%12s' % c for c in table))
    for n in names:
        print(n.ljust(widest) + ''.join('%12s' % table[c].get(n, (0, '-'))[1] for c in table))
    with open('figures.txt', 'w') as out:
        for c, rows in table.items():
            for n, (value, _) in rows.items():
                out.write('%s %s %s\n' % (c, re.sub(r'[ ,]+', '_', n), value))


def main():
    example = sys.argv[2]
    if sys.argv[1] == 'input':
        x = inputs(data_sets(example)['test'])
        x = x[:len(x) if sys.argv[3] == 'all' else int(sys.argv[3])]
        np.save('input.npy', x)
        x.tofile('input.bin')
    elif sys.argv[1] == 'header':
        measure, data = own(example), data_sets(example)
        print(measure.header(results_of(sys.argv[3], data, measure), data), end='')
    else:
        page(example, sys.argv[3:])


if __name__ == '__main__':
    main()

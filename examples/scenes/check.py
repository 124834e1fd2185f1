#!/usr/bin/python3
"""Draws some scenes of test.npz and calibration.npz again and compares: check.py. Ends with an error where they differ
by more than what another version of numpy or another processor rounds."""
import os
import sys

import numpy as np

import scenes


def compare(folder, name, count, draw):
    """Array `name` of a folder's files, of which so many are drawn from the beginning: draw(first, count) gives them,
    and the arrays that have to be nearly those of test.npz."""
    different = total = 0
    for file, first in (('calibration', 0), ('test', 1_000_000)):
        kept = np.load(os.path.join(folder, file + '.npz'))
        for begin, n in ((0, count), (len(kept[name]) - 2, 2)):
            drawn, others = draw(first + begin, n)
            different += np.count_nonzero(drawn != kept[name][begin:begin + n])
            total += drawn.size
            for key, values in others.items():
                if file == 'test' and np.abs(values - kept[key][begin:begin + n].astype(values.dtype)).max() > 0.02:
                    sys.exit('check.py: %s of test.npz is not what is drawn' % key)
    print('%d of %d pixels differ' % (different, total))
    if different > total // 1000:
        sys.exit('check.py: these are too many for rounding')


def draw(first, count):
    levels, labels = scenes.scenes(first, count)
    return scenes.as_input(levels), {'label': labels}


if __name__ == '__main__':
    compare(os.path.dirname(os.path.abspath(__file__)), 'input', 40, draw)

#!/usr/bin/python3
"""Simulates some recordings of test.npz and threshold.npz again and compares: check.py. Ends with an error where they
differ by more than what another version of numpy or another processor rounds."""
import os
import sys

import numpy as np

from features import STEPS
from simulate import simulate

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    different = total = 0
    for part, chosen in (('threshold', [0, 599]), ('test', list(range(12)) + [1599])):
        kept = np.load(os.path.join(HERE, part + '.npz'))
        x, fault, machine = simulate(part, 1, chosen)
        if not np.abs(x - kept['input'][chosen]).max() <= 1 / STEPS:
            sys.exit('check.py: %s.npz is not what simulate.py makes' % part)
        different += np.count_nonzero(x != kept['input'][chosen])
        total += x.size
        if part == 'test' and ((fault != kept['fault'][chosen]).any() or (machine != kept['machine'][chosen]).any()):
            sys.exit('check.py: faults or machines of test.npz are not those of simulate.py')
    print('%d of %d features are a sixteenth apart' % (different, total))
    if different > total // 1000:
        sys.exit('check.py: these are too many for rounding')


if __name__ == '__main__':
    main()

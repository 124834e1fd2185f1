#!/usr/bin/python3
"""Compares mfcc.c with mfcc.py on the host: check.py FOLDER, for what is built. Ends with an error where they differ by
more than float32 rounds."""
import ctypes
import os
import subprocess
import sys

import numpy as np

import mfcc

HERE = os.path.dirname(os.path.abspath(__file__))


def library(folder):
    with open(os.path.join(folder, 'mfcc_tables.h'), 'w') as out:
        subprocess.run([sys.executable, os.path.join(HERE, 'mfcc.py')], stdout=out, check=True)
    built = os.path.join(folder, 'mfcc.so')
    subprocess.run(['cc', '-std=c11', '-O2', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-I' + folder,
                    os.path.join(HERE, 'mfcc.c'), '-lm', '-o', built], check=True)
    return ctypes.CDLL(built)


def sounds(random):
    """seconds as int16: silence, full scale, clicks, chirps in noise from loud to faint"""
    t = np.arange(mfcc.RATE) / mfcc.RATE
    yield np.zeros(mfcc.RATE, np.int16)
    yield np.where(np.sin(2 * np.pi * 440 * t) > 0, 32767, -32768).astype(np.int16)
    yield (30000 * (np.arange(mfcc.RATE) % 1000 == 0)).astype(np.int16)
    for _ in range(40):
        chirp = np.sin(2 * np.pi * (random.uniform(50, 500) * t + random.uniform(0, 3000) * t * t))
        x = chirp + random.uniform(0, 1) * random.standard_normal(mfcc.RATE)
        yield (x / np.abs(x).max() * 32767 * 10 ** random.uniform(-3, 0)).astype(np.int16)


def main():
    run = library(sys.argv[1]).mfcc
    different = total = 0
    for sound in sounds(np.random.default_rng(1)):
        wanted = mfcc.mfcc(sound / 32768)[0]
        got = np.full_like(wanted, np.nan)
        run(sound.ctypes.data_as(ctypes.c_void_p), got.ctypes.data_as(ctypes.c_void_p))
        if not np.abs(got - wanted).max() <= 1 / mfcc.STEPS:
            sys.exit('check.py: mfcc.c gives %g where mfcc.py gives %g' % max(
                zip(got.ravel(), wanted.ravel()), key=lambda p: abs(p[0] - p[1])))
        different += np.count_nonzero(got != wanted)
        total += wanted.size
    print('%d of %d features are an eighth apart' % (different, total))
    if different > total // 1000:
        sys.exit('check.py: these are too many for the rounding of float32')


if __name__ == '__main__':
    main()

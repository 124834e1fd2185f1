#!/usr/bin/python3
"""Makes the data of the digits network from scikit-learn's copy of the UCI digits.

    data.py FOLDER [--csv digits.csv.gz]

FOLDER gets train.npz (1,437 images), calibration.npz (the first 128 of these) and test.npz (360 others): 'input' is
float32 [images, 1, 8, 8] from 0 to 1, 'label' the digit. Needs Debian's python3-numpy and python3-sklearn; of the latter
only the file of --csv, so that a package taken apart with dpkg -x does as well. The calibration has no labels.
"""
import argparse
import gzip
import os

import numpy as np

CSV = '/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz'


def digits(csv=CSV):
    """images and labels of training, then of test: a random split of all, always the same"""
    with gzip.open(csv, 'rt') as lines:
        rows = np.loadtxt(lines, delimiter=',')
    images, labels = (rows[:, :-1] / 16).astype(np.float32).reshape(-1, 1, 8, 8), rows[:, -1].astype(np.int64)
    order = np.random.RandomState(1).permutation(len(rows))  # as train_test_split(test_size=0.2, random_state=1)
    train, test = order[360:], order[:360]
    return images[train], labels[train], images[test], labels[test]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('folder')
    arguments.add_argument('--csv', default=CSV)
    options = arguments.parse_args()
    x, y, test_x, test_y = digits(options.csv)
    os.makedirs(options.folder, exist_ok=True)
    for name, arrays in (('train', {'input': x, 'label': y}), ('calibration', {'input': x[:128]}),
                         ('test', {'input': test_x, 'label': test_y})):
        np.savez_compressed(os.path.join(options.folder, name + '.npz'), **arrays)


if __name__ == '__main__':
    main()

"""How anomalous a recording is: the mean square of what the autoencoder leaves out. Functions as in ../measure.py."""
import re

import numpy as np

FALSE_ALARMS = 0.01  # share of the recordings of threshold.npz above the threshold


def error(x, y):
    """of each row, summed in the order and precision of the firmware"""
    difference = np.float32(x) - np.float32(y)
    return np.add.accumulate(difference * difference, 1, np.float32)[:, -1] / np.float32(x.shape[1])


def area(scores, faulty):
    """under the ROC curve: the share of pairs of a faulty and a sound recording that the score puts in order"""
    sound, faults = np.sort(scores[~faulty]), scores[faulty]
    below = np.searchsorted(sound, faults, 'left') + np.searchsorted(sound, faults, 'right')
    return below.mean() / 2 / len(sound)


def threshold(results):
    return np.float32(np.quantile(results['threshold'], 1 - FALSE_ALARMS))


def percent(share):
    return 100 * share, '%.2f %%' % (100 * share)


def result(x, y):
    return error(x.reshape(len(x), -1), y.reshape(len(y), -1))


def figures(results, data):
    scores = results['test']
    faulty = data['test']['fault'][:len(scores)] != 0
    alarms = scores > threshold(results)
    auc = area(scores, faulty)
    return {'AUC': (auc, '%.4f' % auc), 'faults found': percent(alarms[faulty].mean()),
            'false alarms': percent(alarms[~faulty].mean()), 'alarms': (int(alarms.sum()), '%d' % alarms.sum())}


def log_figures(log):
    alarms = int(re.search(r'alarms (\d+)', log)[1])
    return {'alarms': (alarms, '%d' % alarms)}


def header(results, data):
    value = float(threshold(results))
    return '/* %.6f: above it are %g %% of %d recordings of sound machines. */\n#define ANOMALY_THRESHOLD %sf\n' % (
        value, 100 * FALSE_ALARMS, len(results['threshold']), value.hex())

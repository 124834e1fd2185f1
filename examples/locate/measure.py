"""How well boxes are found: what `nucleon evaluate` says of the decision. Functions as in ../measure.py."""
import json
import re


def percent(share):
    return 100 * share, '%.2f %%' % (100 * share)


def boxes(count):
    return count, format(count, ',')


def figures(results, data):
    return {}


def decision_figures(column):
    found = json.load(open(column + '.evaluate.json'))['decisions']['program']
    return {'mAP at 0.5': percent(found['map50']), 'mAP at 0.5 to 0.95': percent(found['map50_95']),
            'boxes': boxes(found['found'])}


def log_figures(log):
    return {'boxes': boxes(int(re.search(r'boxes (\d+)', log)[1]))}

"""How well faults are found: what `nucleon evaluate` says of the decision. Functions as in ../measure.py."""
import json
import re


def percent(share):
    return 100 * share, '%.2f %%' % (100 * share)


def alarms(count):
    return count, '%d' % count


def figures(results, data):
    return {}


def decision_figures(column):
    found = json.load(open(column + '.evaluate.json'))['decisions']['program']
    return {'AUC': (found['auc'], '%.4f' % found['auc']), 'faults found': percent(found['found'] / found['labelled']),
            'false alarms': percent(found['false_alarms'] / found['normal']),
            'alarms': alarms(found['found'] + found['false_alarms'])}


def log_figures(log):
    return {'alarms': alarms(int(re.search(r'alarms (\d+)', log)[1]))}

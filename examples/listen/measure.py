"""Keywords that are noticed in the stream: what `nucleon evaluate` says of the decision. Functions as in ../measure.py."""
import json
import re

HOP = 320


def figures(results, data):
    return {}


def decision_figures(column):
    found = json.load(open(column + '.evaluate.json'))['decisions']['program']
    return {'keywords noticed': (found['found'], '%d of %d' % (found['found'], found['labelled'])),
            'false alarms an hour': (found['false_alarms_per_hour'], '%.0f' % found['false_alarms_per_hour']),
            'mean delay': (1000 * found['delay_seconds'], '%.0f ms' % (1000 * found['delay_seconds'])),
            'events': (found['found'] + found['false_alarms'], '%d' % (found['found'] + found['false_alarms']))}


def log_figures(log):
    events = int(re.search(r'events (\d+)', log)[1])
    return {'events': (events, '%d' % events)}

"""What listen.pt2 is judged by, for ../measure.py: keywords that are detected in the stream, and when."""
import numpy as np

STEP = 0.04  # seconds
UNDECIDED = 255  # of record.py: while a keyword is spoken
THRESHOLD = 0.8  # of the mean probability of two steps
PAUSE = 15  # steps after a detection without another one
WAIT = 15  # steps after the end of a keyword in which a detection is one of it


def detections(scores):
    """[(step, class)] of scores [steps, classes]"""
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[1:] = (p[1:] + p[:-1]) / 2
    found, free = [], 0
    for step in np.flatnonzero(p[:, 1:].max(1) > THRESHOLD):
        if step >= free:
            found.append((step, 1 + p[step, 1:].argmax()))
            free = step + PAUSE
    return found


def keywords(label):
    """[(first step, step of its end, class)] that the labels tell of; those cut off at the end are left out"""
    spoken, class_, begin = [], 0, 0
    for step, now in enumerate(label):
        if now not in (0, UNDECIDED) and now != class_:
            spoken.append((begin, step, now))
        if now == UNDECIDED and class_ != UNDECIDED:
            begin = step
        class_ = now
    return [s for s in spoken if s[1] + WAIT < len(label)]


def result(x, y):
    return y


def figures(results, data):
    scores = results['test'].reshape(len(results['test']), -1)
    wanted, found = keywords(data['test']['label'][:len(scores)]), detections(scores)
    delays = []
    for begin, end, class_ in wanted:
        hits = [f for f in found if begin <= f[0] <= end + WAIT and f[1] == class_]
        if hits:
            delays.append((hits[0][0] - end) * STEP)
            found.remove(hits[0])
    missed, hours = len(wanted) - len(delays), len(scores) * STEP / 3600
    late = 1000 * np.median(delays) if delays else float('inf')
    return {'keywords': (len(wanted), '%d' % len(wanted)), 'hits': (len(delays), '%d' % len(delays)),
            'misses': (missed, '%d' % missed),
            'false alarms an hour': (len(found) / hours, '%.1f' % (len(found) / hours)),
            'median delay': (late, '%.0f ms' % late)}

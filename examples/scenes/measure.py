"""Accuracy, and its two halves: persons found, and alarms where nobody is. Functions as in ../measure.py."""


def percent(share):
    return 100 * share, '%.2f %%' % (100 * share)


def figures(results, data):
    decisions = results['test'].reshape(len(results['test']), -1).argmax(1)
    labels = data['test']['label'][:len(decisions)]
    return {'accuracy': percent((decisions == labels).mean()), 'persons found': percent(decisions[labels == 1].mean()),
            'false alarms': percent(decisions[labels == 0].mean())}

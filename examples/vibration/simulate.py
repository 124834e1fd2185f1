#!/usr/bin/python3
"""Simulates the vibration of rotating machines, as an accelerometer gives it.

    simulate.py FOLDER [--seed 1]

FOLDER gets calibration.csv, seconds of sound machines one behind the other; machine.csv, six seconds of one machine of
which the last three have a fault; and test.npz with int16 'samples' [recordings, 8192], 'label_anomaly', 'fault' and
'machine'. A recording is one second on one of six machines, each with its own residual imbalance, gear, bearing and
resonances, at a random speed and load. Of test.npz half are of machines in order; the others have one of FAULTS, from
slight to clear. The same seed gives the same files. Needs Debian's python3-numpy.
"""
import argparse
import os

import numpy as np

RATE = 8192
COUNTS = 2048  # of the sensor in a g: int16 is 16 g

FAULTS = ['none', 'imbalance', 'misalignment', 'looseness', 'outer race', 'inner race']
MACHINES = 6
TIME = np.arange(RATE) / RATE
FREQUENCIES = np.arange(RATE // 2 + 1)


class Machine:
    """what sets one machine apart; all amplitudes in g"""

    def __init__(self, random):
        self.harmonics = 0.08 * random.lognormal(0, 0.4, 6) / np.arange(1, 7)
        self.teeth = random.integers(17, 32)
        self.mesh = 0.05 * random.lognormal(0, 0.3)
        self.ball_orders = random.uniform(3.3, 3.8), random.uniform(5.2, 5.7)  # of the outer and inner race
        self.noise = 0.02 * random.lognormal(0, 0.2)
        self.response = np.ones(len(FREQUENCIES), complex)  # from force to acceleration
        for low, high in ((300, 800), (900, 1800), (2000, 3500)):
            mode, damping = random.uniform(low, high), random.uniform(0.02, 0.05)
            r = FREQUENCIES / mode
            self.response += random.uniform(0.3, 1) * r ** 2 / (1 - r ** 2 + 2j * damping * r)


def impulses(order, turns, slip, random):
    """one pulse for each ball that meets the flaw, at times that slip a little, with the shaft's phase there"""
    x = np.zeros(RATE)
    at = np.arange(0, turns[-1], 1 / order)
    at = at + slip * random.standard_normal(len(at)) / order
    samples = np.round(np.interp(at, turns, np.arange(RATE))).astype(int)
    x[samples] = 1
    return x


def recording(machine, fault, random):
    """one second in g"""
    speed, load = random.uniform(20, 48), random.uniform(0.2, 1)
    drift = 0.003 * np.sin(2 * np.pi * (TIME * random.uniform(0.3, 2) + random.uniform()))
    turns = np.cumsum(speed * (1 + drift)) / RATE
    orders = dict(zip(np.arange(1.0, 7), machine.harmonics * (speed / 30) ** 1.5 * random.lognormal(0, 0.12, 6)))
    force = machine.noise * (0.6 + 0.8 * load) * random.standard_normal(RATE)
    severity = np.exp(random.uniform(np.log(0.35), np.log(3.5)))
    pulses = np.zeros(RATE)

    if fault == 'imbalance':
        orders[1.0] += 0.16 * severity * (speed / 30) ** 2
    elif fault == 'misalignment':
        for order, part in ((1.0, 0.3), (2.0, 1), (3.0, 0.5)):
            orders[order] += 0.07 * severity * part * (0.5 + load)
    elif fault == 'looseness':
        for order in np.arange(0.5, 10.5, 0.5):
            orders[order] = orders.get(order, 0) + 0.025 * severity * random.lognormal(0, 0.4) / np.sqrt(order)
    elif fault == 'outer race':
        pulses = 0.35 * severity * impulses(machine.ball_orders[0], turns, 0.01, random)
    elif fault == 'inner race':  # loud once a turn, when the flaw is where the load is
        loaded = 0.5 + 0.5 * np.cos(2 * np.pi * turns)
        pulses = 0.45 * severity * impulses(machine.ball_orders[1], turns, 0.01, random) * loaded

    for order, amplitude in orders.items():
        force += amplitude * np.sin(2 * np.pi * (order * turns + random.uniform()))
    for side, part in ((-1, 0.25), (0, 1), (1, 0.25)):  # the gear's mesh, and the shaft in it
        phase = (machine.teeth + side) * turns + random.uniform()
        force += machine.mesh * (0.3 + load) * part * np.sin(2 * np.pi * phase)
    # Now and then something knocks on a sound machine, too.
    knocks = 0.3 * random.exponential(1, RATE) * (random.uniform(size=RATE) < random.uniform(0, 6) / RATE)
    x = np.fft.irfft(np.fft.rfft(force + (0.5 + load) * pulses + knocks) * machine.response, RATE)
    mounting = random.lognormal(0, 0.08)
    return mounting * x + 0.005 * random.standard_normal(RATE)


PARTS = {'train': 6000, 'calibration': 600, 'test': 800}  # recordings


def counts(x):
    return np.clip(np.round(x * COUNTS), -32768, 32767).astype(np.int16)


def simulate(part, seed, chosen=None):
    """recordings, faults and machines of a part, or of those with the chosen numbers"""
    numbers = np.arange(PARTS[part])
    if part == 'test':  # every other one is of a faulty machine
        machine, fault = numbers // 2 % MACHINES, numbers % 2 * (numbers // 2 % (len(FAULTS) - 1) + 1)
    else:
        machine, fault = numbers % MACHINES, np.zeros_like(numbers)
    machines = [Machine(np.random.default_rng([seed, m])) for m in range(MACHINES)]
    numbers = numbers if chosen is None else chosen
    made = [counts(recording(machines[machine[i]], FAULTS[fault[i]],
                             np.random.default_rng([seed, list(PARTS).index(part), i, 1]))) for i in numbers]
    return np.stack(made), fault[numbers].astype(np.uint8), machine[numbers].astype(np.uint8)


def write_csv(path, x):
    np.savetxt(path, x.reshape(-1), '%d', header='acceleration', comments='')


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('folder')
    arguments.add_argument('--seed', type=int, default=1)
    options = arguments.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    write_csv(os.path.join(options.folder, 'calibration.csv'), simulate('calibration', options.seed)[0])
    x, fault, machine = simulate('test', options.seed)
    np.savez(os.path.join(options.folder, 'test.npz'), samples=x, label_anomaly=(fault != 0).astype(np.uint8), fault=fault,
             machine=machine)
    of_one = [np.flatnonzero((machine == 3) & is_faulty)[:3] for is_faulty in (fault == 0, fault == 4)]
    write_csv(os.path.join(options.folder, 'machine.csv'), x[np.concatenate(of_one)])


if __name__ == '__main__':
    main()

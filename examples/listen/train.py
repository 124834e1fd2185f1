"""Trains a network with a GRU on the streams of ../listen/record.py.

    train.py RECORDINGS FOLDER [--epochs 30]

FOLDER gets listen.pt2 (torch.export archive, input [1, 100, 10], 100 frames of 10 features; scores [1, 50, 5] of 50 steps) and of
the recordings calibration/NUMBER.wav, 2 seconds each of 12 training streams, and the first 100 seconds of the test stream, test.wav
and test.txt. Needs PyTorch 2.9 or later.
"""
import argparse
import os
import sys
import time
import wave

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'spoken'))
from mfcc import Mfcc, read_wav  # noqa: E402

RATE, STEP = 8000, 320  # samples of a second, and of a step: two frames
WINDOW = 50  # steps that the exported network sees; compiled with --stream it takes one at a time
LATE = 8  # steps from the end of a keyword on that have its label
UNDECIDED = -100  # while a keyword is spoken: cross_entropy() ignores it
CALIBRATION, TEST_SECONDS = 12, 100


class Listener(nn.Module):
    """scores of the classes after each step of two frames, in the light of the steps before"""

    def __init__(self, features=20, width=32, hidden=64, classes=5):
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.cell = nn.GRU(width, hidden, batch_first=True)
        self.leave = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.sequences(x, None)[0]

    def sequences(self, x, hidden):
        """scores [batch, steps, classes] and the hidden vectors at the end"""
        x = x.reshape(x.shape[0], x.shape[1] // 2, 2 * x.shape[2])
        out, last = self.cell(torch.relu(self.enter(x)), hidden)
        return self.leave(out), last


def train(model, x, label, epochs, batch=50, rate=4e-3):
    optimizer = torch.optim.Adam(model.parameters(), rate, weight_decay=1e-4)
    steps = len(x) // batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * steps, pct_start=0.15)
    hidden = torch.zeros(1, batch, model.cell.hidden_size)
    model.train()
    for epoch in range(epochs):
        total, started = 0.0, time.time()
        for part in torch.randperm(len(x)).split(batch)[:steps]:
            # Louder and softer, which is coefficient 0, and not quite the same.
            given = x[part] + 0.2 * torch.randn_like(x[part])
            given[:, :, 0] += torch.rand(batch, 1) - 0.5
            # A stream begins with what another one left: in use none ends.
            scores, hidden = model.sequences(given, hidden.detach())
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), label[part].flatten(), ignore_index=UNDECIDED)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1)
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print('epoch %2d  loss %.4f  %.1f s' % (epoch + 1, total / steps, time.time() - started), flush=True)
    model.eval()


def labels(path, steps, classes):
    """the class of each step: nothing, undecided while a keyword is spoken, and the keyword when it has ended"""
    label = torch.zeros(steps, dtype=torch.long)
    with open(path) as file:
        for begin, end, word in (line.split('\t') for line in file.read().splitlines()):
            first, last = (int(float(t) * RATE) // STEP for t in (begin, end))
            label[first:last] = UNDECIDED
            label[last:last + LATE] = classes.index(word)
    return label


def load(path, classes, mfcc):
    """features [frames, coefficients] of whole steps, and a label for each step"""
    x = mfcc(read_wav(path + '.wav')[None])[0]
    steps = len(x) // 2
    return x[:2 * steps], labels(path + '.txt', steps, classes)


def save_part(path, first, samples, to):
    os.makedirs(os.path.dirname(to), exist_ok=True)
    with wave.open(path) as file, wave.open(to, 'wb') as out:
        out.setparams(file.getparams())
        file.setpos(first)
        out.writeframes(file.readframes(samples))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('recordings')
    arguments.add_argument('folder')
    arguments.add_argument('--epochs', type=int, default=30)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with open(os.path.join(HERE, 'classes.txt')) as file:
        classes = file.read().split()
    mfcc = Mfcc(os.path.join(HERE, 'front_end.json'))
    folder = os.path.join(options.recordings, 'train')
    names = sorted(n[:-4] for n in os.listdir(folder) if n.endswith('.wav'))
    x, label = (torch.stack(part) for part in zip(*(load(os.path.join(folder, n), classes, mfcc) for n in names)))
    mean, deviation = x.mean((0, 1)), x.std((0, 1))
    model = Listener()
    train(model, (x - mean) / deviation, label, options.epochs)
    with torch.no_grad():  # from here on it takes features as they are
        model.enter.weight /= deviation.repeat(2)
        model.enter.bias -= model.enter.weight @ mean.repeat(2)
        test, test_label = load(os.path.join(options.recordings, 'test'), classes, mfcc)
        right = (model(test[None])[0].argmax(1) == test_label)[test_label != UNDECIDED]
    print('held out: %.2f %% of %d steps' % (100 * right.float().mean(), len(right)))
    exported = torch.export.export(model, (torch.zeros(1, 2 * WINDOW, x.shape[2]),))
    torch.export.save(exported, os.path.join(options.folder, 'listen.pt2'))
    window = WINDOW * STEP + mfcc.window - mfcc.hop
    for i in range(CALIBRATION):
        save_part(os.path.join(folder, names[i] + '.wav'), 3 * RATE, window,
                  os.path.join(options.folder, 'calibration', '%02d.wav' % i))
    save_part(os.path.join(options.recordings, 'test.wav'), 0, TEST_SECONDS * RATE, os.path.join(options.folder, 'test.wav'))
    with open(os.path.join(options.recordings, 'test.txt')) as file, open(os.path.join(options.folder, 'test.txt'), 'w') as out:
        out.writelines(line for line in file if float(line.split('\t')[1]) < TEST_SECONDS)


if __name__ == '__main__':
    main()

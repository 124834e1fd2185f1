"""Trains a network with a GRU on the streams of record.py.

    train.py FEATURES.npz FOLDER [--epochs 30]

FOLDER gets listen.pt2 (torch.export archive, input [1, 20], scores [1, 5]; the hidden vector is a buffer that forward()
changes), calibration.npz ('input': 24 training sequences of 200 steps) and test.npz ('input': the test stream, 'label').
Needs PyTorch 2.9 or later.
"""
import argparse
import os
import time

import numpy as np
import torch
from torch import nn

UNDECIDED = 255  # of record.py
CLASSES = 5


class Listener(nn.Module):
    """scores of the classes after a step, in the light of the steps before"""

    def __init__(self, features=20, width=32, hidden=48):
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.cell = nn.GRUCell(width, hidden)
        self.leave = nn.Linear(hidden, CLASSES)
        self.register_buffer('hidden', torch.zeros(1, hidden))

    def forward(self, x):
        self.hidden.copy_(self.cell(torch.relu(self.enter(x)), self.hidden))
        return self.leave(self.hidden)

    def sequences(self, x, hidden):
        """scores [batch, steps, classes] and the hidden vectors at the end"""
        x = torch.relu(self.enter(x))
        cell = self.cell
        weights = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
        out, last, *_ = torch.gru(x, hidden[None], weights, True, 1, 0.0, self.training, False, True)
        return self.leave(out), last[0]


def train(model, x, label, epochs, batch=50, rate=4e-3):
    optimizer = torch.optim.Adam(model.parameters(), rate, weight_decay=1e-4)
    steps = len(x) // batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * steps, pct_start=0.15)
    hidden = torch.zeros(batch, model.cell.hidden_size)
    model.train()
    for epoch in range(epochs):
        total, started = 0.0, time.time()
        for part in torch.randperm(len(x)).split(batch)[:steps]:
            # Louder and softer, which is coefficient 0 of both frames, and not quite the same.
            given = x[part] + 0.2 * torch.randn_like(x[part])
            given[:, :, [0, 10]] += torch.rand(batch, 1, 1) - 0.5
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


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('features')
    arguments.add_argument('folder')
    arguments.add_argument('--epochs', type=int, default=30)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    data = {k: torch.from_numpy(v) for k, v in np.load(options.features).items()}
    x = data['train']
    mean, deviation = x.mean((0, 1)), x.std((0, 1))
    model = Listener(x.shape[2])
    train(model, (x - mean) / deviation, data['train_label'].long(), options.epochs)
    with torch.no_grad():  # from here on it takes features as they are
        model.enter.weight /= deviation
        model.enter.bias -= model.enter.weight @ mean
        scores, _ = model.sequences(data['test'][None], model.hidden)
        decided = data['test_label'] != UNDECIDED
        right = (scores[0].argmax(1) == data['test_label'])[decided]
    print('held out: %.2f %% of %d steps' % (100 * right.float().mean(), len(right)))
    os.makedirs(options.folder, exist_ok=True)
    torch.export.save(torch.export.export(model, (torch.zeros(1, x.shape[2]),)), os.path.join(options.folder, 'listen.pt2'))
    chosen = torch.randperm(len(x))[:24]
    np.savez_compressed(os.path.join(options.folder, 'calibration.npz'), input=x[chosen].numpy())
    np.savez_compressed(os.path.join(options.folder, 'test.npz'), input=data['test'].numpy(),
                        label=data['test_label'].numpy())


if __name__ == '__main__':
    main()

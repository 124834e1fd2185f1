"""Trains an autoencoder, in the manner of MLPerf Tiny's for anomalies, on spectra of sound machines alone.

    train.py FOLDER [--epochs 25]

FOLDER gets vibration.pt2 (torch.export archive: input [1, 63, 64], logarithms of bands of 63 spectra, as
front_end.json makes them of a second; output [1, 128], the squared distance of means and deviations of the bands from
what is expected). Needs PyTorch 2.9 or later; some minutes.
"""
import argparse
import json
import os
import time

import numpy as np
import torch
from torch import nn

from simulate import simulate

HERE = os.path.dirname(os.path.abspath(__file__))


def mel(hz):
    return 1127 * np.log1p(hz / 700)


def spectra(x):
    """[recordings, frames, bands] of int16 [recordings, samples], by the numbers of front_end.json"""
    front = json.load(open(os.path.join(HERE, 'front_end.json')))['sensor']
    n, hop = front['window'], front['hop']
    edges = torch.linspace(mel(front['lowest']), mel(front['highest']), front['bands'] + 2, dtype=torch.float64)
    at = torch.from_numpy(mel(np.arange(n // 2 + 1) * front['rate'] / n))[:, None]
    rising = (at - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - at) / (edges[2:] - edges[1:-1])
    bands = torch.clamp(torch.minimum(rising, falling), min=0)
    made = []
    for part in torch.from_numpy(x).double().split(100):
        part = part * front['full_scale'] / 32768
        window = torch.hann_window(n, dtype=torch.float64)
        magnitudes = torch.stft(part, n, hop, window=window, center=False, return_complex=True).abs()
        made.append(torch.log(magnitudes.transpose(1, 2) @ bands + front['offset']).float())
    return torch.cat(made)


def layer(inputs, outputs):
    return [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]


class Expected(nn.Module):
    """what is left of how loud bands are, and of how much that changes, after it went through a few numbers"""

    def __init__(self, bands=64, width=128, code=8):
        super().__init__()
        self.layers = nn.Sequential(*layer(2 * bands, width), *layer(width, width), *layer(width, code),
                                    *layer(code, width), *layer(width, width), nn.Linear(width, 2 * bands))

    def facts(self, x):
        mean = x.mean(1, keepdim=True)
        return torch.cat([mean, (x - mean).abs().mean(1, keepdim=True)], 2).flatten(1)

    def forward(self, x):
        x = self.facts(x)
        return (self.layers(x) - x) ** 2


def area(scores, faulty):
    """under the ROC curve: the share of pairs of a faulty and a sound recording that the score puts in order"""
    sound, faults = np.sort(scores[~faulty]), scores[faulty]
    below = np.searchsorted(sound, faults, 'left') + np.searchsorted(sound, faults, 'right')
    return below.mean() / 2 / len(sound)


def train(model, x, epochs, batch=100, rate=3e-3):
    optimizer = torch.optim.Adam(model.parameters(), rate, weight_decay=1e-5)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * (len(x) // batch), pct_start=0.15)
    model.layers[-1].bias.data = model.facts(x).mean(0)
    model.train()
    for epoch in range(epochs):
        total, started = 0.0, time.time()
        for part in torch.randperm(len(x)).split(batch)[:len(x) // batch]:
            loss = model(x[part]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print('epoch %2d  loss %.4f  %.1f s' % (epoch + 1, total / (len(x) // batch), time.time() - started),
              flush=True)
    model.eval()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('folder')
    arguments.add_argument('--epochs', type=int, default=25)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Expected()
    train(model, spectra(simulate('train', 1)[0]), options.epochs)
    x, fault, _ = simulate('test', 1)
    with torch.no_grad():
        scores = model(spectra(x)).mean(1).numpy()
    print('held out: AUC %.4f of %d recordings' % (area(scores, fault != 0), len(x)))
    os.makedirs(options.folder, exist_ok=True)
    torch.export.save(torch.export.export(model, (torch.zeros(1, 63, 64),)), os.path.join(options.folder, 'vibration.pt2'))


if __name__ == '__main__':
    main()

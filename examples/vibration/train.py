"""Trains an autoencoder, in the manner of MLPerf Tiny's for anomalies, on features of sound machines alone.

    train.py FEATURES.npz FOLDER [--epochs 40]

FOLDER gets vibration.pt2 (torch.export archive, input and output [1, 128]), calibration.npz ('input': 128 training
recordings), threshold.npz ('input': 600 more recordings of sound machines, from which the threshold is taken) and
test.npz ('input': the held-out recordings, 'fault': 0 for none, 'machine'). Needs PyTorch 2.9 or later.
"""
import argparse
import os
import time

import numpy as np
import torch
from torch import nn

from measure import area


def layer(inputs, outputs):
    return [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]


def autoencoder(features=128, width=128, code=8):
    """what is left of the features after they went through a few numbers"""
    return nn.Sequential(*layer(features, width), *layer(width, width), *layer(width, code), *layer(code, width),
                         *layer(width, width), nn.Linear(width, features))


def train(model, x, epochs, batch=100, rate=3e-3):
    optimizer = torch.optim.Adam(model.parameters(), rate, weight_decay=1e-5)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * (len(x) // batch), pct_start=0.15)
    model.train()
    for epoch in range(epochs):
        total, started = 0.0, time.time()
        for part in torch.randperm(len(x)).split(batch)[:len(x) // batch]:
            loss = nn.functional.mse_loss(model(x[part]), x[part])
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
    arguments.add_argument('features')
    arguments.add_argument('folder')
    arguments.add_argument('--epochs', type=int, default=40)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    data = dict(np.load(options.features))
    x = torch.from_numpy(data['train'])
    model = autoencoder()
    model[-1].bias.data = x.mean(0)
    train(model, x, options.epochs)
    with torch.no_grad():
        error = ((model(torch.from_numpy(data['test'])).numpy() - data['test']) ** 2).mean(1)
    print('held out: AUC %.4f of %d recordings' % (area(error, data['fault'] != 0), len(error)))
    os.makedirs(options.folder, exist_ok=True)
    torch.export.save(torch.export.export(model, (torch.zeros(1, 128),)), os.path.join(options.folder, 'vibration.pt2'))
    chosen = torch.randperm(len(x))[:128].numpy()
    for name, arrays in (('calibration', {'input': data['train'][chosen]}), ('threshold', {'input': data['threshold']}),
                         ('test', {'input': data['test'], 'fault': data['fault'], 'machine': data['machine']})):
        np.savez_compressed(os.path.join(options.folder, name + '.npz'), **arrays)


if __name__ == '__main__':
    main()

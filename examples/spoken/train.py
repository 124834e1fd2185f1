"""Trains a DS-CNN, the keyword spotting network of MLPerf Tiny, on the features of record.py.

    train.py FEATURES.npz FOLDER [--epochs 30]

FOLDER gets spoken.pt2 (torch.export archive, input [1, 1, 49, 10]), calibration.npz ('input': 128 training recordings)
and test.npz ('input': the held-out recordings, 'label'). Needs PyTorch 2.9 or later.
"""
import argparse
import os
import time

import numpy as np
import torch
from torch import nn


def convolution(inputs, outputs, kernel, stride=1, padding=0, groups=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(outputs),
            nn.ReLU()]


class DSCNN(nn.Module):
    """depthwise separable convolutions over 49 frames of 10 coefficients"""

    def __init__(self, classes=10, channels=64, blocks=4):
        super().__init__()
        layers = convolution(1, channels, (10, 4), 2, (5, 1)) + [nn.Dropout(0.2)]
        for _ in range(blocks):
            layers += convolution(channels, channels, 3, 1, 1, groups=channels) + convolution(channels, channels, 1)
        self.features = nn.Sequential(*layers, nn.Dropout(0.4), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def train(model, x, label, epochs, batch=100, rate=4e-3):
    optimizer = torch.optim.Adam(model.parameters(), rate, weight_decay=1e-5)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * (len(x) // batch), pct_start=0.15)
    model.train()
    for epoch in range(epochs):
        total, started = 0.0, time.time()
        for part in torch.randperm(len(x)).split(batch)[:len(x) // batch]:
            loss = nn.functional.cross_entropy(model(x[part]), label[part], label_smoothing=0.05)
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
    arguments.add_argument('--epochs', type=int, default=30)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    data = {k: torch.from_numpy(v) for k, v in np.load(options.features).items()}
    model = DSCNN()
    train(model, data['train'], data['train_label'].long(), options.epochs)
    with torch.no_grad():
        right = sum(int((model(x).argmax(1) == y).sum())
                    for x, y in zip(data['test'].split(200), data['test_label'].split(200)))
    print('held out: %.2f %% of %d recordings' % (100 * right / len(data['test']), len(data['test'])))
    os.makedirs(options.folder, exist_ok=True)
    exported = torch.export.export(model, (torch.zeros(1, 1, 49, 10),))
    torch.export.save(exported, os.path.join(options.folder, 'spoken.pt2'))
    chosen = torch.randperm(len(data['train']))[:128]
    np.savez_compressed(os.path.join(options.folder, 'calibration.npz'), input=data['train'][chosen].numpy())
    np.savez_compressed(os.path.join(options.folder, 'test.npz'), input=data['test'].numpy(),
                        label=data['test_label'].numpy())


if __name__ == '__main__':
    main()

"""Trains a DS-CNN, the keyword spotting network of MLPerf Tiny, on the recordings of record.py.

    train.py RECORDINGS FOLDER [--epochs 30]

FOLDER gets spoken.pt2 (torch.export archive, input [1, 1, 49, 10]), and of the recordings calibration/NUMBER.wav, 20 of
training, and test/DIGIT/NUMBER.wav, 100 that are held out. Needs PyTorch 2.9 or later.
"""
import argparse
import glob
import os
import shutil
import time

import torch
from torch import nn

from mfcc import Mfcc, read_wav

HERE = os.path.dirname(os.path.abspath(__file__))


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


def load(folder, digits, mfcc):
    """paths of the recordings, their features and their labels"""
    files = [(path, label) for label, digit in enumerate(digits)
             for path in sorted(glob.glob(os.path.join(folder, digit, '*.wav')))]
    features = [mfcc(torch.stack([read_wav(path) for path, _ in files[i:i + 500]])) for i in range(0, len(files), 500)]
    return [path for path, _ in files], torch.cat(features)[:, None], torch.tensor([label for _, label in files])


def keep(path, folder, name):
    os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
    shutil.copyfile(path, os.path.join(folder, name))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('recordings')
    arguments.add_argument('folder')
    arguments.add_argument('--epochs', type=int, default=30)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with open(os.path.join(HERE, 'classes.txt')) as file:
        digits = file.read().split()
    mfcc = Mfcc(os.path.join(HERE, 'front_end.json'))
    paths, x, label = load(os.path.join(options.recordings, 'train'), digits, mfcc)
    model = DSCNN()
    train(model, x, label, options.epochs)
    chosen = torch.randperm(len(x))[:20].tolist()
    test_paths, test, test_label = load(os.path.join(options.recordings, 'test'), digits, mfcc)
    with torch.no_grad():
        right = sum(int((model(x).argmax(1) == y).sum()) for x, y in zip(test.split(200), test_label.split(200)))
    print('held out: %.2f %% of %d recordings' % (100 * right / len(test), len(test)))
    os.makedirs(options.folder, exist_ok=True)
    exported = torch.export.export(model, (torch.zeros(1, 1, 49, 10),))
    torch.export.save(exported, os.path.join(options.folder, 'spoken.pt2'))
    for i, at in enumerate(chosen):
        keep(paths[at], options.folder, 'calibration/%02d.wav' % i)
    for path in test_paths:
        name = os.path.relpath(path, options.recordings)
        if os.path.basename(path) < '010.wav':
            keep(path, options.folder, name)


if __name__ == '__main__':
    main()

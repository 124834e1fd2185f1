#!/usr/bin/env python3
"""Trains the network of this example: python3 train.py FOLDER

FOLDER gets scenes.pt2, calibration.npz (input: 128 of the training's scenes) and test.npz (input and label of 1,000
others). Needs PyTorch and numpy; takes a quarter of an hour on one core.
"""
import argparse
import os
import time

import numpy as np
import torch
from torch import nn

import scenes

TEST_FIRST, TEST_COUNT, CALIBRATION_COUNT = 1_000_000, 1000, 128


def convolution(inputs, outputs, kernel, stride=1, groups=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU6()]


class Detector(nn.Module):
    """A narrow MobileNet: depthwise and pointwise convolutions; logits of 'nobody' and 'person'."""

    def __init__(self):
        super().__init__()
        layers, inputs = convolution(1, 8, 3, stride=2), 8
        for outputs, stride in [(16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (64, 2), (64, 1), (64, 1)]:
            layers += convolution(inputs, inputs, 3, stride, groups=inputs) + convolution(inputs, outputs, 1)
            inputs = outputs
        self.features = nn.Sequential(*layers)
        self.pool = nn.AvgPool2d(4)
        self.classifier = nn.Linear(inputs, 2)

    def forward(self, image):
        return self.classifier(self.pool(self.features(image)).flatten(1))


def train(model, first, count, epochs, rate, batch=64):
    """Scenes `first` and so on; rates rise and fall over the epochs."""
    levels, labels = scenes.scenes(first, count)
    x, labels = torch.from_numpy(scenes.as_input(levels)), torch.from_numpy(labels)
    torch.manual_seed(first + 1)
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * (len(x) // batch), pct_start=0.2)
    model.train()
    for epoch in range(epochs):
        total, started = 0.0, time.time()
        for part in torch.randperm(len(x)).split(batch)[:len(x) // batch]:
            images = x[part]
            if torch.rand(()) < 0.5:
                images = images.flip(3)
            loss = nn.functional.cross_entropy(model(images), labels[part], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1:2}  loss {total / (len(x) // batch):.4f}  {time.time() - started:.1f} s", flush=True)
    model.eval()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Detector()
    train(model, 0, 24000, 20, 6e-3)
    levels, labels = scenes.scenes(TEST_FIRST, TEST_COUNT)
    test = scenes.as_input(levels)
    with torch.no_grad():
        output = torch.cat([model(part) for part in torch.from_numpy(test).split(200)]).numpy()
    print(f"held out: {100 * (output.argmax(1) == labels).mean():.2f} % of {len(labels)} scenes")
    os.makedirs(options.folder, exist_ok=True)
    torch.export.save(torch.export.export(model, (torch.zeros(1, 1, scenes.SIZE, scenes.SIZE),)),
                      os.path.join(options.folder, "scenes.pt2"))
    scenes.save(os.path.join(options.folder, "calibration.npz"), input=scenes.as_input(scenes.scenes(0, CALIBRATION_COUNT)[0]))
    scenes.save(os.path.join(options.folder, "test.npz"), input=test, label=labels.astype(np.uint8))


if __name__ == "__main__":
    main()

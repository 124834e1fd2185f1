"""Trains a network like digits.pt2 on the data of data.py.

    train.py FOLDER [--epochs 60]

FOLDER has train.npz and test.npz, and gets digits.pt2 and digits_channels_last.pt2. Needs PyTorch 2.9 or later.
"""
import argparse
import copy
import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """inverted residual of MobileNetV2: wider, a depthwise convolution, narrow again"""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        wide = 4 * inputs
        self.c1, self.b1 = nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.c2 = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)
        self.b2 = nn.BatchNorm2d(wide)
        self.c3, self.b3 = nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = functional.relu6(self.b1(self.c1(x)))
        y = functional.relu6(self.b2(self.c2(y)))
        y = self.b3(self.c3(y))
        return x + y if self.residual else y


class DigitsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.bn = nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(Block(16, 16, 1), Block(16, 24, 2), Block(24, 24, 1), Block(24, 32, 2))
        self.head = nn.Linear(32, 10)

    def scores(self, x):
        x = self.blocks(functional.relu6(self.bn(self.stem(x))))
        return self.head(torch.flatten(functional.adaptive_avg_pool2d(x, (1, 1)), 1))

    def forward(self, x):
        return functional.softmax(self.scores(x), dim=1)


def train(model, x, label, epochs, batch=32, rate=3e-3):
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * (len(x) // batch))
    model.train()
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(batch)[:len(x) // batch]:
            loss = functional.cross_entropy(model.scores(x[part]), label[part], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('folder')
    arguments.add_argument('--epochs', type=int, default=60)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x, label, test_x, test_label = (torch.from_numpy(np.load(os.path.join(options.folder, part + '.npz'))[name])
                                    for part in ('train', 'test') for name in ('input', 'label'))
    model = DigitsNet()
    train(model, x, label, options.epochs)
    with torch.no_grad():
        right = (model(test_x).argmax(1) == test_label).float().mean()
    print('held out: %.2f %% of %d images' % (100 * float(right), len(test_x)))
    example = torch.zeros(1, 1, 8, 8)
    torch.export.save(torch.export.export(model, (example,)), os.path.join(options.folder, 'digits.pt2'))
    last = copy.deepcopy(model).to(memory_format=torch.channels_last)
    # With one channel both orders have the same strides unless they are asked for.
    strided = torch.empty_strided(example.shape, (64, 1, 8, 1)).copy_(example)
    torch.export.save(torch.export.export(last, (strided,)), os.path.join(options.folder, 'digits_channels_last.pt2'))


if __name__ == '__main__':
    main()

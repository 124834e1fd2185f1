#!/usr/bin/env python3
"""Trains the network of this example: python3 train.py FOLDER

FOLDER gets locate.pt2, calibration.npz (frames of 128 of the training's scenes) and test.npz (frames and boxes of 500
others). Needs PyTorch and numpy; takes half an hour on one core.
"""
import argparse
import os
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import yard

TEST_FIRST, TEST_COUNT, CALIBRATION_COUNT = 1_000_000, 500, 128
STRIDE, CELLS = 8, 12  # of the grid that the network answers on


def convolution(inputs, outputs, kernel, stride=1, groups=1):
    return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU6()]


def separable(inputs, outputs, stride=1, kernel=3):
    return convolution(inputs, inputs, kernel, stride, groups=inputs) + convolution(inputs, outputs, 1)


class Locator(nn.Module):
    """A narrow MobileNet whose coarse features are added to the finer ones. For each cell of 8 x 8 pixels, row by row:
    the distances from its centre to the left, upper, right and lower side of a box, in cells, then logits of the
    classes."""

    def __init__(self):
        super().__init__()
        self.fine = nn.Sequential(*convolution(1, 8, 3, stride=2), *separable(8, 16), *separable(16, 24, 2),
                                  *separable(24, 24), *separable(24, 48, 2), *separable(48, 48))
        self.coarse = nn.Sequential(*separable(48, 96, 2), *separable(96, 96, kernel=5), *separable(96, 96, kernel=5),
                                    *convolution(96, 48, 1))
        self.upsample = nn.Upsample(scale_factor=2)
        self.head = nn.Sequential(*separable(48, 64), *separable(64, 64))
        self.answer = nn.Conv2d(64, 4 + len(yard.CLASSES), 1)
        nn.init.constant_(self.answer.bias[4:], -4)
        nn.init.constant_(self.answer.bias[:4], 2)

    def forward(self, image):
        fine = self.fine(image)
        return self.answer(self.head(fine + self.upsample(self.coarse(fine)))).flatten(2)


class Boxes(nn.Module):
    """The same with boxes in place of distances: centre, width and height in cells, as a YOLO's rows. Centres are those
    of the cells and half a difference of distances, sizes are sums, which the last convolution computes itself."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        rows = torch.eye(4 + len(yard.CLASSES))
        rows[:4, :4] = torch.tensor([[-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5], [1, 0, 1, 0], [0, 1, 0, 1]])
        answer = model.answer
        answer.weight.data = torch.einsum("ij,jkyx->ikyx", rows, answer.weight.data)
        answer.bias.data = rows @ answer.bias.data
        offset = torch.zeros(1, len(rows), CELLS * CELLS)
        offset[0, :2] = centres()
        self.register_buffer("offset", offset)

    def forward(self, image):
        return self.model(image) + self.offset


def centres():
    at = torch.arange(CELLS) + 0.5
    return torch.stack([at.repeat(CELLS), at.repeat_interleave(CELLS)])  # x and y of each cell


def targets(boxes):
    """Per cell the distances to the sides of the smallest box that it is near the centre of, and its class; -1: none."""
    x, y = centres()
    sides = torch.zeros(len(boxes), 4, CELLS * CELLS)
    classes = torch.full((len(boxes), CELLS * CELLS), -1)
    for i, found in enumerate(boxes):
        for kind, left, top, wide, high in sorted(found.tolist(), key=lambda b: -b[3] * b[4]):
            if kind < 0:
                continue
            left, top, wide, high = (v * CELLS for v in (left, top, wide, high))
            near = ((x - left - wide / 2).abs() < max(0.5, min(1.5, wide / 2))) & \
                   ((y - top - high / 2).abs() < max(0.5, min(1.5, high / 2)))
            sides[i][:, near] = torch.stack([x - left, y - top, left + wide - x, top + high - y])[:, near]
            classes[i, near] = int(kind)
    return sides, classes


def overlap(a, b):
    """Generalized IoU of boxes [n, 4] around the same points, and IoU."""
    inner = (torch.minimum(a[:, 2:], b[:, 2:]) + torch.minimum(a[:, :2], b[:, :2])).clamp(min=0).prod(1)
    outer = (torch.maximum(a[:, 2:], b[:, 2:]) + torch.maximum(a[:, :2], b[:, :2])).clamp(min=0).prod(1) + 1e-6
    union = (a[:, :2] + a[:, 2:]).clamp(min=0).prod(1) + (b[:, :2] + b[:, 2:]).prod(1) - inner + 1e-6
    return inner / union - (outer - union) / outer, inner / union


def loss_of(output, sides, classes):
    is_found = classes >= 0
    generalized, iou = overlap(output[:, :4].transpose(1, 2)[is_found], sides.transpose(1, 2)[is_found])
    wanted = torch.zeros_like(output[:, 4:]).transpose(1, 2)
    wanted[is_found, classes[is_found]] = iou.detach().clamp(0, 1)  # a score says how well the box fits
    wanted = wanted.transpose(1, 2)
    scores = output[:, 4:]
    weight = (scores.detach().sigmoid() - wanted).abs() ** 2
    quality = functional.binary_cross_entropy_with_logits(scores, wanted, reduction="none") * weight
    count = max(1, int(is_found.sum()))
    return quality.sum() / count + (1 - generalized).sum() / count


def train(model, first, count, epochs, rate, batch=64):
    """Scenes `first` and so on; rates rise and fall over the epochs."""
    levels, boxes = yard.yards(first, count)
    x = torch.from_numpy(yard.scenes.as_input(levels))
    turned = boxes.copy()
    turned[..., 1] = np.where(boxes[..., 0] < 0, -1, 1 - boxes[..., 1] - boxes[..., 3])
    both = [targets(torch.from_numpy(b)) for b in (boxes, turned)]
    torch.manual_seed(first + 1)
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, epochs * (len(x) // batch), pct_start=0.2)
    model.train()
    for epoch in range(epochs):
        total, started = 0.0, time.time()
        for part in torch.randperm(len(x)).split(batch)[:len(x) // batch]:
            flip = int(torch.rand(()) < 0.5)
            sides, classes = both[flip]
            loss = loss_of(model(x[part].flip(3) if flip else x[part]), sides[part], classes[part])
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
    arguments.add_argument("--scenes", type=int, default=16000)
    arguments.add_argument("--epochs", type=int, default=25)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Locator()
    train(model, 0, options.scenes, options.epochs, 5e-3)
    model = Boxes(model).eval()
    levels, boxes = yard.yards(TEST_FIRST, TEST_COUNT)
    os.makedirs(options.folder, exist_ok=True)
    torch.export.save(torch.export.export(model, (torch.zeros(1, 1, yard.SIZE, yard.SIZE),)),
                      os.path.join(options.folder, "locate.pt2"))
    calibration = yard.as_frames(yard.yards(0, CALIBRATION_COUNT)[0])
    yard.scenes.save(os.path.join(options.folder, "calibration.npz"), frame=calibration)
    yard.scenes.save(os.path.join(options.folder, "test.npz"), frame=yard.as_frames(levels), label_boxes=boxes)


if __name__ == "__main__":
    main()

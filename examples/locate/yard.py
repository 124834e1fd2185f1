#!/usr/bin/env python3
"""Draws the scenes of this example: python3 yard.py FIRST COUNT FILE.npz

Grey images of 96 x 96 pixels, drawn by ../scenes/scenes.py: up to three persons and animals, between posts, street lamps,
coats on racks, trees and chairs, with backgrounds, light, blur, noise and things in front. Each person or animal of which
at least half is in sight has a box around what is seen of it.

Scene number i is the same whenever it is drawn: train.py takes numbers from 0 on for training and from 1,000,000 on for
the test. numpy is all that is needed (Debian: python3-numpy).
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "scenes"))
import scenes  # noqa: E402

SIZE, MOST = 96, 3
CLASSES = ["person", "animal"]
LEAST_SEEN, LEAST_PIXELS = 0.5, 60
scenes.SIZE, scenes.FINE = SIZE, 2 * SIZE
FIGURES = [scenes.person, scenes.animal]
OTHERS = [other for other in scenes.OTHERS if other not in FIGURES]


class Canvas(scenes.Canvas):
    """Knows of each pixel which figure it shows: 1, 2, ...; 0 none."""

    def __init__(self, rng):
        super().__init__(rng)
        self.owner = np.zeros((scenes.FINE, scenes.FINE), int)
        self.painting = 0

    def paint(self, where, mask, grey):
        super().paint(where, mask, grey)
        self.owner[where][mask] = self.painting


def draw(number):
    """Scene `number`: levels [96, 96], and boxes [n, 5]: class, x and y of the left upper corner, width, height, in parts
    of the image."""
    rng = np.random.RandomState(number)
    while True:
        c = Canvas(rng)
        horizon = scenes.background(c)
        scenes.clutter(c, rng.randint(0, 5))
        figures = []
        things = [rng.randint(len(FIGURES)) for _ in range(rng.randint(0, MOST + 1))]
        things += [len(FIGURES)] * rng.randint(0, 3)
        for kind in rng.permutation(things).astype(int):
            # What stands lower is nearer, and drawn later; it may be hidden nonetheless.
            high = rng.uniform(0.22, 0.85) * scenes.FINE
            at = rng.uniform(0.06, 0.94) * scenes.FINE, max(horizon + 2, rng.uniform(0.45, 1.05) * scenes.FINE)
            if kind == len(FIGURES):
                OTHERS[rng.randint(len(OTHERS))](c, *at, high)
                continue
            c.painting = len(figures) + 1
            FIGURES[kind](c, *at, high)
            figures.append((kind, np.count_nonzero(c.owner == c.painting)))
            c.painting = 0
        if rng.rand() < 0.3:
            scenes.clutter(c, 2)
        boxes = [(kind,) + box_of(c.owner == i + 1, drawn) for i, (kind, drawn) in enumerate(figures)]
        if all(len(box) > 1 for box in boxes):
            return scenes.camera(c), np.array(boxes, np.float32).reshape(-1, 5)


def box_of(seen, drawn):
    """(x, y, width, height); (): too little of it is in sight."""
    if seen.sum() < max(LEAST_SEEN * drawn, 4 * LEAST_PIXELS):
        return ()
    columns, rows = np.flatnonzero(seen.any(0)), np.flatnonzero(seen.any(1))
    sides = np.array([columns[0], rows[0], columns[-1] + 1 - columns[0], rows[-1] + 1 - rows[0]]) / scenes.FINE
    return tuple(float(s) for s in sides)


def yards(first, count):
    """levels uint8 [count, 96, 96] and boxes [count, 3, 5]; a class of -1: there is none."""
    drawn = [draw(i) for i in range(first, first + count)]
    boxes = np.full((count, MOST, 5), -1, np.float32)
    for i, (_, found) in enumerate(drawn):
        boxes[i, :len(found)] = found
    return np.stack([d[0] for d in drawn]), boxes


def as_frames(levels):
    """As a camera of 8 bits sends them: uint8 [count, 96 * 96]."""
    return (levels * (256 // scenes.LEVELS)).reshape(len(levels), -1)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    levels, boxes = yards(int(sys.argv[1]), int(sys.argv[2]))
    scenes.save(sys.argv[3], frame=as_frames(levels), label_boxes=boxes)

#!/usr/bin/env python3
"""Draws the scenes of this example: python3 scenes.py FIRST COUNT FILE.npz

Grey images of 64 x 64 pixels as a cheap camera gives them: in half of them stands, walks or sits a person, in the
others everything else that is upright, round on top or has limbs: posts, street lamps, coats on racks, trees, chairs,
dogs and cows. All of them have backgrounds, clutter, light from a side, blur, noise and things in front.

Scene number i is the same whenever it is drawn, with a person where i is odd: train.py takes numbers from 0 on for
training and from 1,000,000 on for the test. numpy is all that is needed (Debian: python3-numpy).
"""
import sys
import zipfile

import numpy as np

SIZE = 64
FINE = 2 * SIZE  # drawn twice as fine, then averaged
LEVELS = 16      # of grey: a sensor of 4 bits
LEAST_SEEN = 0.5  # of a person's pixels: with less in sight it does not count, and is drawn anew


class Canvas:
    """A picture of FINE x FINE, and how much of the figure in question is seen. y points down; units are pixels."""

    def __init__(self, rng):
        self.rng = rng
        self.picture = np.zeros((FINE, FINE))
        self.figure = np.zeros((FINE, FINE), bool)
        self.drawn = 0  # pixels of the figure when nothing was in front of it, also outside of the frame
        self.is_figure = False
        self.shade = 0.0  # how much darker the far side of a body is

    def box(self, left, top, right, bottom):
        """The part of the picture within these limits, as slices, with the coordinates of its pixels' centres."""
        x0, x1 = max(0, int(left) - 1), min(FINE, int(right) + 2)
        y0, y1 = max(0, int(top) - 1), min(FINE, int(bottom) + 2)
        if x0 >= x1 or y0 >= y1:
            return None
        y, x = np.mgrid[y0:y1, x0:x1]
        return (slice(y0, y1), slice(x0, x1)), x + 0.5, y + 0.5

    def paint(self, where, mask, grey):
        self.picture[where][mask] = np.broadcast_to(grey, mask.shape)[mask]
        self.figure[where][mask] = self.is_figure

    def limb(self, a, b, wide_a, wide_b, grey):
        """A body part from a to b with round ends, wide_a and wide_b in radius there."""
        wide = max(wide_a, wide_b)
        if self.is_figure:
            self.drawn += np.hypot(a[0] - b[0], a[1] - b[1]) * (wide_a + wide_b) + 1.6 * (wide_a**2 + wide_b**2)
        found = self.box(min(a[0], b[0]) - wide, min(a[1], b[1]) - wide, max(a[0], b[0]) + wide, max(a[1], b[1]) + wide)
        if found is None:
            return
        where, x, y = found
        dx, dy = b[0] - a[0], b[1] - a[1]
        along = np.clip(((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy + 1e-9), 0, 1)
        off = x - a[0] - along * dx
        radius = wide_a + (wide_b - wide_a) * along
        mask = off**2 + (y - a[1] - along * dy) ** 2 < radius**2
        self.paint(where, mask, grey - self.shade * off / (radius + 1e-9))

    def ellipse(self, centre, wide, high, grey):
        if self.is_figure:
            self.drawn += 3.14 * wide * high
        found = self.box(centre[0] - wide, centre[1] - high, centre[0] + wide, centre[1] + high)
        if found is None:
            return
        where, x, y = found
        off = (x - centre[0]) / wide
        self.paint(where, off**2 + ((y - centre[1]) / high) ** 2 < 1, grey - self.shade * off)

    def block(self, left, top, right, bottom, grey):
        found = self.box(left, top, right, bottom)
        if found is None:
            return
        where, x, y = found
        mask = (x > left) & (x < right) & (y > top) & (y < bottom)
        self.paint(where, mask, grey - self.shade * (2 * (x - left) / (right - left + 1e-9) - 1))


def smooth_noise(rng, cells):
    """Values about 0 that change slowly: a coarse grid, interpolated."""
    grid = rng.standard_normal((cells + 1, cells + 1))
    at = np.linspace(0, cells - 1e-6, FINE)
    low = at.astype(int)
    part = at - low
    rows = grid[low] * (1 - part)[:, None] + grid[low + 1] * part[:, None]
    return rows[:, low] * (1 - part) + rows[:, low + 1] * part


# ---- backgrounds and clutter ----

def background(c):
    rng = c.rng
    horizon = rng.uniform(0.3, 0.8) * FINE
    y = np.arange(FINE)[:, None]
    far, near = rng.uniform(0.2, 0.9, 2)
    c.picture[:] = np.where(y < horizon, far + rng.uniform(-0.15, 0.15) * y / FINE, near)
    c.picture += rng.uniform(0, 0.12) * smooth_noise(rng, rng.randint(2, 6))
    c.picture += rng.uniform(0, 0.06) * smooth_noise(rng, rng.randint(12, 40))
    kind = rng.randint(4)
    if kind == 0:  # a wall with planks
        step = rng.uniform(6, 24)
        c.picture += np.where((np.arange(FINE) % step < 2) & (y < horizon), rng.uniform(-0.15, 0.15), 0)
    elif kind == 1:  # houses with windows
        for _ in range(rng.randint(1, 4)):
            left, top = rng.uniform(-0.2, 0.9) * FINE, rng.uniform(0, 0.6) * FINE
            wide, grey = rng.uniform(0.15, 0.6) * FINE, rng.uniform(0.1, 0.9)
            c.block(left, top, left + wide, horizon, grey)
            size = rng.uniform(4, 10)
            for wx in np.arange(left + size, left + wide - size, 2 * size):
                for wy in np.arange(top + size, horizon - size, 2.2 * size):
                    c.block(wx, wy, wx + size, wy + 1.3 * size, grey + rng.uniform(-0.3, 0.3))
    elif kind == 2:  # a room: floor, door, picture
        left = rng.uniform(0, 0.8) * FINE
        c.block(left, rng.uniform(0.05, 0.3) * FINE, left + rng.uniform(0.15, 0.3) * FINE, horizon + 6,
                rng.uniform(0.1, 0.9))
    return horizon


def clutter(c, n):
    rng = c.rng
    for _ in range(n):
        x, y, size = rng.uniform(0, FINE), rng.uniform(0.3, 1) * FINE, rng.uniform(0.04, 0.2) * FINE
        grey = rng.uniform(0, 1)
        kind = rng.randint(4)
        if kind == 0:
            c.block(x, y - size, x + size * rng.uniform(0.5, 2), y, grey)
        elif kind == 1:
            c.ellipse((x, y), size * rng.uniform(0.4, 1), size * rng.uniform(0.4, 1), grey)
        elif kind == 2:
            c.limb((x, y), (x + rng.uniform(-3, 3) * size, y - rng.uniform(0, 3) * size), 1 + 0.1 * size,
                   1 + 0.1 * size, grey)
        else:
            for _ in range(6):
                c.ellipse((x + rng.uniform(-1, 1) * size, y + rng.uniform(-1, 1) * size), size * 0.5, size * 0.5,
                          grey + rng.uniform(-0.1, 0.1))


# ---- a person ----

def turned(a, length, angle):
    """The point `length` from a; angle 0 points down, positive to the right."""
    return a[0] + length * np.sin(angle), a[1] + length * np.cos(angle)


def person(c, x, ground, high):
    """Head, torso, arms and legs with elbows and knees; `high` when it stands upright."""
    rng = c.rng
    c.shade = rng.uniform(-0.12, 0.12)
    skin, shirt, trousers = rng.uniform(0.1, 0.95), rng.uniform(0, 1), rng.uniform(0, 1)
    if rng.rand() < 0.3:
        trousers = shirt  # a coat, an overall
    build = rng.uniform(0.8, 1.3)
    pose = rng.choice(["stands", "walks", "sits", "waves", "bends"], p=[0.3, 0.35, 0.15, 0.12, 0.08])
    side = rng.choice([-1, 1])
    lean = rng.uniform(-0.1, 0.1)
    thigh, shin, torso, head = 0.25 * high, 0.24 * high, 0.31 * high, 0.066 * high
    upper, lower = 0.17 * high, 0.16 * high
    legs = [(rng.uniform(-0.12, 0.02), rng.uniform(-0.05, 0.05)), (rng.uniform(-0.02, 0.12), rng.uniform(-0.05, 0.05))]
    arms = [(rng.uniform(-0.35, -0.05), rng.uniform(-0.3, 0.4)), (rng.uniform(0.05, 0.35), rng.uniform(-0.4, 0.3))]
    if pose == "walks":
        stride = rng.uniform(0.2, 0.6)
        legs = [(stride * side, (stride - rng.uniform(0.1, 0.4)) * side),
                (-stride * side, (-stride - rng.uniform(0.1, 0.6)) * side)]
        swing = stride * rng.uniform(0.6, 1.2)
        arms = [(-swing * side, (-swing + rng.uniform(0.1, 0.8)) * side), (swing * side, (swing + rng.uniform(0.1, 0.8)) * side)]
        lean += 0.08 * side
    elif pose == "sits":
        legs = [(rng.uniform(1.1, 1.6) * side, rng.uniform(-0.3, 0.2) * side) for _ in range(2)]
        arms = [(rng.uniform(0.1, 0.6) * side, rng.uniform(0.6, 1.6) * side) for _ in range(2)]
    elif pose == "waves":
        arms[0] = (-rng.uniform(1.6, 2.8), -rng.uniform(2.2, 3.4))
        if rng.rand() < 0.4:
            arms[1] = (rng.uniform(1.2, 2.8), rng.uniform(1.5, 3.4))
    elif pose == "bends":
        lean += side * rng.uniform(0.4, 0.9)
    drop = max(thigh * np.cos(a) + shin * np.cos(b) for a, b in legs)
    hip = (x, ground - drop - 0.03 * high)
    neck = turned(hip, torso, np.pi - lean)
    width = 0.085 * high * build
    from_front = rng.uniform(0.45, 1)  # shoulders are narrow from the side
    shoulders = [(neck[0] + s * width * from_front, neck[1] + 0.03 * high) for s in (-1, 1)]
    hips = [(hip[0] + s * 0.6 * width * from_front, hip[1]) for s in (-1, 1)]

    def arm(i):
        elbow = turned(shoulders[i], upper, arms[i][0])
        hand = turned(elbow, lower, arms[i][1])
        c.limb(shoulders[i], elbow, 0.034 * high * build, 0.027 * high * build, shirt - 0.05)
        c.limb(elbow, hand, 0.027 * high * build, 0.02 * high, shirt - 0.05)
        c.ellipse(hand, 0.022 * high, 0.022 * high, skin)

    def leg(i):
        knee = turned(hips[i], thigh, legs[i][0])
        foot = turned(knee, shin, legs[i][1])
        c.limb(hips[i], knee, 0.055 * high * build, 0.04 * high * build, trousers)
        c.limb(knee, foot, 0.04 * high * build, 0.026 * high, trousers)
        c.limb(foot, (foot[0] + 0.06 * high * side, foot[1] + 0.01 * high), 0.022 * high, 0.02 * high, 0.1)

    c.is_figure = True
    arm(0)
    leg(0)
    leg(1)
    skirt = rng.rand() < 0.2
    if skirt:
        c.limb(hip, (hip[0], hip[1] + 0.22 * high), width, 1.5 * width, trousers)
    c.limb((neck[0], neck[1] + 0.06 * high), hip, width * (0.6 + 0.4 * from_front), width * 0.85, shirt)
    top = turned(neck, 0.09 * high, np.pi - lean * rng.uniform(0, 1))
    c.limb(neck, top, 0.03 * high, 0.03 * high, skin)
    c.ellipse(top, head * 0.85, head * 1.1, skin)
    if rng.rand() < 0.7:
        hair = rng.uniform(0, 0.7)
        c.ellipse((top[0] - 0.1 * head * side, top[1] - 0.45 * head), head * 0.9, head * 0.75, hair)
        if rng.rand() < 0.25:
            c.limb((top[0] - 1.3 * head, top[1] - 0.5 * head), (top[0] + 1.3 * head, top[1] - 0.5 * head), 0.2 * head,
                   0.2 * head, hair)
    arm(1)
    if rng.rand() < 0.25:
        c.block(hip[0] + side * 1.1 * width, hip[1] - 0.1 * high, hip[0] + side * 1.1 * width + 0.1 * high,
                hip[1] + 0.1 * high, rng.uniform(0, 1))
    c.is_figure = False
    c.shade = 0


# ---- what is none ----

def post(c, x, ground, high):
    """A bollard, a street lamp, a road sign: upright, some with a round top."""
    rng = c.rng
    grey, wide = rng.uniform(0, 1), rng.uniform(0.015, 0.09) * high
    c.limb((x, ground), (x + rng.uniform(-0.04, 0.04) * high, ground - 0.85 * high), wide, wide * rng.uniform(0.5, 1), grey)
    kind = rng.randint(4)
    if kind == 0:
        c.ellipse((x, ground - 0.9 * high), 0.08 * high, 0.09 * high, rng.uniform(0, 1))
    elif kind == 1:
        c.ellipse((x, ground - 0.85 * high), 0.15 * high, 0.15 * high, rng.uniform(0, 1))
    elif kind == 2:
        c.limb((x, ground - 0.85 * high), (x + 0.25 * high, ground - 0.9 * high), wide * 0.8, wide * 0.6, grey)


def rack(c, x, ground, high):
    """A coat on a stand: shoulders, sleeves and a hat, but no legs and nobody in it."""
    rng = c.rng
    grey, coat = rng.uniform(0, 1), rng.uniform(0, 1)
    c.limb((x, ground), (x, ground - 0.95 * high), 0.018 * high, 0.015 * high, grey)
    for s in (-1, 1):
        c.limb((x, ground - 0.05 * high), (x + s * 0.12 * high, ground), 0.015 * high, 0.015 * high, grey)
        c.limb((x, ground - 0.9 * high), (x + s * 0.09 * high, ground - 0.96 * high), 0.01 * high, 0.01 * high, grey)
    top = ground - 0.8 * high
    c.limb((x, top), (x, ground - rng.uniform(0.2, 0.4) * high), 0.07 * high, rng.uniform(0.08, 0.14) * high, coat)
    for s in (-1, 1):
        c.limb((x + s * 0.06 * high, top + 0.03 * high), (x + s * 0.1 * high, top + 0.3 * high), 0.035 * high,
               0.03 * high, coat - 0.05)
    if rng.rand() < 0.3:
        c.ellipse((x, ground - 0.97 * high), 0.07 * high, 0.035 * high, coat)


def tree(c, x, ground, high):
    rng = c.rng
    trunk, leaves = rng.uniform(0, 0.6), rng.uniform(0.05, 0.9)
    fork = (x + rng.uniform(-0.05, 0.05) * high, ground - rng.uniform(0.35, 0.6) * high)
    c.limb((x, ground), fork, rng.uniform(0.025, 0.06) * high, 0.025 * high, trunk)
    for _ in range(rng.randint(2, 6)):
        end = turned(fork, rng.uniform(0.2, 0.4) * high, np.pi + rng.uniform(-1.1, 1.1))
        c.limb(fork, end, 0.018 * high, 0.008 * high, trunk)
    if rng.rand() < 0.7:
        for _ in range(rng.randint(5, 20)):
            size = rng.uniform(0.05, 0.14) * high
            c.ellipse((fork[0] + rng.normal() * 0.14 * high, fork[1] - (0.2 + rng.normal() * 0.12) * high), size, size,
                      leaves + rng.uniform(-0.1, 0.1))


def chair(c, x, ground, high):
    rng = c.rng
    grey, wide, seat = rng.uniform(0, 1), rng.uniform(0.1, 0.2) * high, ground - rng.uniform(0.3, 0.42) * high
    thick, side = rng.uniform(0.012, 0.03) * high, rng.choice([-1, 1])
    for s in (-1, 1):
        for back in (0, 1):
            c.limb((x + s * wide + back * 0.05 * high, seat), (x + s * wide * 1.05 + back * 0.05 * high, ground - back * 0.05 * high),
                   thick, thick, grey - 0.08 * back)
    c.block(x - wide, seat - 0.03 * high, x + wide + 0.05 * high, seat + 0.02 * high, grey)
    c.limb((x + side * wide, seat), (x + side * wide * 1.2, ground - 0.8 * high), thick, thick, grey)
    if rng.rand() < 0.6:
        c.block(x - wide, ground - 0.85 * high, x + wide, ground - rng.uniform(0.5, 0.6) * high, grey + 0.05)


def animal(c, x, ground, high):
    """A dog, a cow, a horse: limbs and a head, but a body that lies."""
    rng = c.rng
    grey, side = rng.uniform(0, 1), rng.choice([-1, 1])
    c.shade = rng.uniform(-0.1, 0.1)
    size = high * rng.uniform(0.6, 1)
    long, leg = 0.5 * size, rng.uniform(0.25, 0.4) * size
    thick = rng.uniform(0.09, 0.15) * size
    back = ground - leg - thick * 0.5
    for at in (-0.5, -0.4, 0.4, 0.5):
        knee = turned((x + at * long, back), 0.5 * leg + 0.3 * thick, rng.uniform(-0.4, 0.4))
        c.limb((x + at * long, back), knee, 0.05 * size, 0.035 * size, grey - 0.05)
        c.limb(knee, (knee[0] + rng.uniform(-0.06, 0.06) * size, ground), 0.03 * size, 0.025 * size, grey - 0.05)
    c.limb((x - 0.5 * long, back), (x + 0.5 * long, back), thick, thick * rng.uniform(0.8, 1.2), grey)
    neck = (x + side * 0.55 * long, back)
    nose = turned(neck, rng.uniform(0.15, 0.4) * size, np.pi - side * rng.uniform(-0.2, 1.1))
    c.limb(neck, nose, 0.07 * size, 0.05 * size, grey)
    c.limb(nose, turned(nose, 0.13 * size, side * rng.uniform(0.6, 1.7)), 0.06 * size, 0.035 * size, grey)
    c.limb((x - side * 0.55 * long, back), turned((x - side * 0.55 * long, back), 0.25 * size, -side * rng.uniform(0, 2)),
           0.02 * size, 0.012 * size, grey)
    if rng.rand() < 0.3:
        for _ in range(4):
            c.ellipse((x + rng.uniform(-0.5, 0.5) * long, back + rng.uniform(-0.5, 0.5) * thick), 0.05 * size,
                      0.04 * size, 1 - grey)
    c.shade = 0


OTHERS = [post, rack, tree, chair, animal]


# ---- the camera ----

def camera(c):
    """Light from a side, vignette, blur, contrast, noise, and the levels of the sensor."""
    rng = c.rng
    y, x = np.mgrid[0:FINE, 0:FINE] / FINE - 0.5
    picture = np.clip(c.picture, 0, 1)
    angle = rng.uniform(0, 2 * np.pi)
    picture = picture * (1 + rng.uniform(0, 0.8) * (x * np.cos(angle) + y * np.sin(angle)))
    picture = picture * (1 - rng.uniform(0, 0.8) * (x * x + y * y))
    picture = picture.reshape(SIZE, 2, SIZE, 2).mean((1, 3))
    if rng.rand() < 0.5:  # out of focus, or moved
        n = rng.randint(2, 4)
        picture = sum(np.roll(picture, i, 1) for i in range(n)) / n
        if rng.rand() < 0.6:
            picture = sum(np.roll(picture, i, 0) for i in range(n)) / n
    low, span = rng.uniform(0, 0.3), rng.uniform(0.35, 0.9)
    picture = low + span * np.clip(picture, 0, 1.2) ** rng.uniform(0.6, 1.6)
    picture = picture + rng.choice([0.004, 0.01, 0.03], p=[0.5, 0.35, 0.15]) * rng.standard_normal((SIZE, SIZE))
    return np.clip(np.floor(picture * LEVELS), 0, LEVELS - 1).astype(np.uint8)


def draw(number):
    """Scene `number`: (levels [64, 64], whether somebody is in it)."""
    rng = np.random.RandomState(number)
    is_person = bool(number % 2)
    while True:
        c = Canvas(rng)
        horizon = background(c)
        clutter(c, rng.randint(0, 5))
        if rng.rand() < 0.5:
            rng.choice(OTHERS)(c, rng.uniform(0, 1) * FINE, max(horizon, rng.uniform(0.5, 0.95) * FINE),
                               rng.uniform(0.2, 0.8) * FINE)
        high = rng.uniform(0.3, 1.05) * FINE
        x, ground = rng.uniform(0.1, 0.9) * FINE, max(horizon + 2, rng.uniform(0.6, 1.08) * FINE)
        (person if is_person else rng.choice(OTHERS))(c, x, ground, high)
        if rng.rand() < 0.4:  # something in front
            kind = rng.randint(3)
            if kind == 0:
                left = x + rng.uniform(-0.3, 0.2) * high
                c.block(left, ground - rng.uniform(0.1, 0.5) * high, left + rng.uniform(0.2, 0.8) * high, FINE,
                        rng.uniform(0, 1))
            elif kind == 1:
                c.limb((x + rng.uniform(-0.2, 0.2) * high, FINE), (x + rng.uniform(-0.2, 0.2) * high, 0),
                       0.04 * high, 0.04 * high, rng.uniform(0, 1))
            else:
                clutter(c, 2)
        if not is_person or c.figure.sum() > LEAST_SEEN * c.drawn:
            return camera(c), is_person


def scenes(first, count):
    """levels uint8 [count, 64, 64], 0 to LEVELS - 1, and labels [count]: 1 where somebody is."""
    drawn = [draw(i) for i in range(first, first + count)]
    return np.stack([d[0] for d in drawn]), np.array([d[1] for d in drawn], np.int64)


def as_input(levels):
    """What the network takes: float32 [count, 1, 64, 64] from 0 to 1."""
    return (levels.astype(np.float32) / np.float32(LEVELS))[:, None]


def save(path, **arrays):
    """As numpy.savez_compressed(), smaller, and the same bytes each time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(name + ".npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry._compresslevel = 9
            with archive.open(entry, "w") as to:
                np.lib.format.write_array(to, array)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    levels, labels = scenes(int(sys.argv[1]), int(sys.argv[2]))
    save(sys.argv[3], input=as_input(levels), label=labels.astype(np.uint8))

#!/usr/bin/python3
"""As ../scenes/check.py, whose comparison it is: check.py."""
import importlib.util
import os

import yard

HERE = os.path.dirname(os.path.abspath(__file__))


def draw(first, count):
    levels, boxes = yard.yards(first, count)
    return yard.as_frames(levels), {'label_boxes': boxes}


if __name__ == '__main__':
    spec = importlib.util.spec_from_file_location('scenes_check', os.path.join(HERE, os.pardir, 'scenes', 'check.py'))
    scenes_check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scenes_check)
    scenes_check.compare(HERE, 'frame', 20, draw)

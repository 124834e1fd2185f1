#!/usr/bin/python3
"""Speaks keywords and other words with espeak-ng, joins them with noise to streams and writes their features.

    record.py FEATURES.npz [--seed 1]

FEATURES.npz holds float32 'train' [sequences, steps, 20] and 'test' [steps, 20], and 'train_label' and 'test_label' with a
label for each step (LABELS below). A step is two frames of ../spoken/mfcc.py, 40 ms. The test stream has voices and other
words that no training stream has. The same seed and espeak-ng give the same file. Needs Debian's espeak-ng and
python3-numpy.
"""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'spoken'))
import mfcc  # noqa: E402
from record import ACCENTS, NEW_ACCENTS, speak, variants  # noqa: E402

KEYWORDS = ['lights', 'music', 'volume', 'stop']
OTHERS = '''time person year way day thing man world life hand part child eye woman place work week case point company
number group problem fact good new first last long great little own other old right big high different small large next
early young important few public bad same able step shop nights magic value column measure house water paper river table
window garden summer winter morning evening yellow orange seven eleven banana doctor teacher engine market'''.split()
NEW_OTHERS = '''school student story money month book job word business issue side kind head father power hour game line
end member law car city name team minute idea body back parent face level office door health art war history party result
change reason research girl guy moment air force student lively evolve slot mustard flights'''.split()
LABELS = ['nothing'] + KEYWORDS  # and, in the label arrays:
UNDECIDED = 255  # while a keyword is spoken
LATE = 8  # steps after the end of a keyword that have its label

FRAMES = 2  # of a step
STEP = FRAMES * mfcc.STRIDE  # samples: 40 ms
SEQUENCES, SECONDS = 700, 8  # of training
TEST_SECONDS = 1200


def recordings(words, count, accents, speakers, random):
    """[(word, samples)]"""
    made = []
    for i in range(count):
        voice = str(random.choice(accents)) + '+' + str(random.choice(speakers))
        word = words[i % len(words)]
        made.append((word, speak(word, voice, random.integers(120, 221), random.integers(15, 86), 100)))
    return made


def noise(samples, random):
    """of unit power, between white and pink, as loud throughout or swelling"""
    x = np.fft.rfft(random.standard_normal(samples))
    x /= np.maximum(np.arange(len(x)), samples // 800) ** random.uniform(0, 0.5)
    x = np.fft.irfft(x, samples)
    swell = 1 + random.uniform(0, 0.5) * np.sin(2 * np.pi * (np.arange(samples) / mfcc.RATE * random.uniform(0.05, 0.5)
                                                             + random.uniform()))
    return x * swell / np.sqrt(np.mean(x ** 2))


def stream(seconds, next_word, random):
    """samples and a label for each step; words follow each other after pauses of 0.3 to 2 s"""
    samples = seconds * mfcc.RATE
    x = np.zeros(samples)
    label = np.zeros(samples // STEP, np.uint8)
    at = int(random.uniform(0.2, 1.5) * mfcc.RATE)
    while True:
        word, sound = next_word()
        end = at + len(sound)
        if end + (LATE + 1) * STEP > samples:
            break
        x[at:end] += sound / np.sqrt(np.mean(sound ** 2)) * 0.05 * 10 ** random.uniform(-0.5, 0.5)
        if word in KEYWORDS:
            last = end // STEP
            label[at // STEP:last] = UNDECIDED
            label[last:last + LATE] = LABELS.index(word)
        at = end + int(random.uniform(0.3, 2) * mfcc.RATE)
    return x + noise(samples, random) * 0.05 * 10 ** (-random.uniform(8, 40) / 20), label


def features(x):
    """[steps, FRAMES * COEFFICIENTS]; a step ends with the sound: its last frame has the last WINDOW samples"""
    steps = len(x) // STEP
    x = np.concatenate([np.full(mfcc.WINDOW - mfcc.STRIDE, 0.0), x[:steps * STEP]])
    made = [mfcc.mfcc(x[i:i + 500 * STEP + mfcc.WINDOW - mfcc.STRIDE])[0] for i in range(0, steps * STEP, 500 * STEP)]
    return np.concatenate(made).reshape(steps, FRAMES * mfcc.COEFFICIENTS)


def taking(random, keywords, others, share):
    """a function that gives a recording, `share` of them keywords"""
    return lambda: (lambda pool: pool[random.integers(len(pool))])(keywords if random.uniform() < share else others)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('output')
    arguments.add_argument('--seed', type=int, default=1)
    options = arguments.parse_args()
    random = np.random.default_rng(options.seed)
    speakers = variants()
    random.shuffle(speakers)
    held_out, known = speakers[:len(speakers) // 4], speakers[len(speakers) // 4:]
    pools = [recordings(words, count, accents, voices, random) for words, count, accents, voices in (
        (KEYWORDS, 1600, ACCENTS, known), (OTHERS, 1800, ACCENTS, known),
        (KEYWORDS, 240, ACCENTS + NEW_ACCENTS, held_out), (NEW_OTHERS, 500, ACCENTS + NEW_ACCENTS, held_out))]
    print('%d recordings' % sum(map(len, pools)), flush=True)
    train = [stream(SECONDS, taking(random, pools[0], pools[1], 0.5), random) for _ in range(SEQUENCES)]
    # Of the test's recordings each is heard once, of noise there is another one every 20 s.
    order = {id(pool): iter(pool) for pool in pools[2:]}
    keyword, other = (lambda pool=pool: next(order[id(pool)], pool[0]) for pool in pools[2:])
    test = [stream(20, lambda: keyword() if random.uniform() < 0.3 else other(), random)
            for _ in range(TEST_SECONDS // 20)]
    np.savez_compressed(options.output, train=np.stack([features(x) for x, _ in train]),
                        train_label=np.stack([label for _, label in train]),
                        test=features(np.concatenate([x for x, _ in test])),
                        test_label=np.concatenate([label for _, label in test]))


if __name__ == '__main__':
    main()

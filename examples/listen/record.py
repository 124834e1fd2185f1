#!/usr/bin/python3
"""Speaks keywords and other words with espeak-ng and joins them with noise to streams, .wav files.

    record.py FOLDER [--seed 1]

FOLDER gets train/NUMBER.wav, 8 s each, and test.wav, 20 minutes. Beside each lies a label track as Audacity has them, .txt with
begin, end and name of each keyword in seconds. The test stream has voices and other words that no training stream has. The same
seed and espeak-ng give the same files. Needs Debian's espeak-ng and python3-numpy.
"""
import argparse
import importlib.util
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location('spoken_record', os.path.join(HERE, '..', 'spoken', 'record.py'))
spoken = importlib.util.module_from_spec(spec)
spec.loader.exec_module(spoken)

RATE = spoken.RATE
KEYWORDS = ['lights', 'music', 'volume', 'stop']
OTHERS = '''time person year way day thing man world life hand part child eye woman place work week case point company
number group problem fact good new first last long great little own other old right big high different small large next
early young important few public bad same able step shop nights magic value column measure house water paper river table
window garden summer winter morning evening yellow orange seven eleven banana doctor teacher engine market light likes
basic tunic mosaic values album bottom stock top spot flight nice mice using dusty volcano element polite slide
open close start play pause louder quiet radio kitchen bedroom yesterday tomorrow because always never maybe please thank
hello weather traffic london paris coffee sugar bottle camera letter pencil bag'''.split()
NEW_OTHERS = '''school student story money month book job word business issue side kind head father power hour game line
end member law car city name team minute idea body back parent face level office door health art war history party result
change reason research girl guy moment air force student lively evolve slot mustard flights'''.split()

STREAMS, SECONDS = 1400, 8  # of training
PIECES, PIECE = 60, 20  # of the test stream, seconds each
QUIET = 0.35  # seconds without a word at the end of a stream


def recordings(words, count, accents, speakers, random):
    """[(word, samples)]"""
    made = []
    for i in range(count):
        voice = str(random.choice(accents)) + '+' + str(random.choice(speakers))
        word = words[i % len(words)]
        made.append((word, spoken.speak(word, voice, random.integers(120, 221), random.integers(15, 86), 100)))
    return made


def noise(samples, random):
    """of unit power, between white and pink, as loud throughout or swelling"""
    x = np.fft.rfft(random.standard_normal(samples))
    x /= np.maximum(np.arange(len(x)), samples // 400) ** random.uniform(0, 0.5)
    x = np.fft.irfft(x, samples)
    swell = 1 + random.uniform(0, 0.5) * np.sin(2 * np.pi * (np.arange(samples) / RATE * random.uniform(0.05, 0.5)
                                                             + random.uniform()))
    return x * swell / np.sqrt(np.mean(x ** 2))


def stream(seconds, next_word, random):
    """samples and [(begin, end, keyword)] in seconds; words follow each other after pauses of 0.3 to 2 s"""
    samples = seconds * RATE
    x, labels = np.zeros(samples), []
    at = int(random.uniform(0.2, 1.5) * RATE)
    while True:
        word, sound = next_word()
        end = at + len(sound)
        if end + QUIET * RATE > samples:
            break
        x[at:end] += sound / np.sqrt(np.mean(sound ** 2)) * 0.05 * 10 ** random.uniform(-0.5, 0.5)
        if word in KEYWORDS:
            labels.append((at / RATE, end / RATE, word))
        at = end + int(random.uniform(0.3, 2) * RATE)
    return x + noise(samples, random) * 0.05 * 10 ** (-random.uniform(8, 40) / 20), labels


def save(path, x, labels):
    spoken.save(path + '.wav', x)
    with open(path + '.txt', 'w') as out:
        out.writelines('%.6f\t%.6f\t%s\n' % label for label in labels)


def taking(random, keywords, others, share):
    """a function that gives a recording, `share` of them keywords"""
    return lambda: (lambda pool: pool[random.integers(len(pool))])(keywords if random.uniform() < share else others)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('folder')
    arguments.add_argument('--seed', type=int, default=1)
    options = arguments.parse_args()
    random = np.random.default_rng(options.seed)
    speakers = spoken.variants()
    random.shuffle(speakers)
    held_out, known = speakers[:len(speakers) // 4], speakers[len(speakers) // 4:]
    all_accents = spoken.ACCENTS + spoken.NEW_ACCENTS
    pools = [recordings(words, count, accents, voices, random) for words, count, accents, voices in (
        (KEYWORDS, 3200, spoken.ACCENTS, known), (OTHERS, 5400, spoken.ACCENTS, known),
        (KEYWORDS, 240, all_accents, held_out), (NEW_OTHERS, 500, all_accents, held_out))]
    print('%d recordings' % sum(map(len, pools)), flush=True)
    for i in range(STREAMS):
        save(os.path.join(options.folder, 'train', '%04d' % i),
             *stream(SECONDS, taking(random, pools[0], pools[1], 0.5), random))
    # Of the test's recordings each is heard once, of noise there is another one in every piece.
    order = {id(pool): iter(pool) for pool in pools[2:]}
    keyword, other = (lambda pool=pool: next(order[id(pool)], pool[0]) for pool in pools[2:])
    test = [stream(PIECE, lambda: keyword() if random.uniform() < 0.3 else other(), random) for _ in range(PIECES)]
    save(os.path.join(options.folder, 'test'), np.concatenate([x for x, _ in test]),
         [(i * PIECE + begin, i * PIECE + end, word) for i, (_, labels) in enumerate(test) for begin, end, word in labels])


if __name__ == '__main__':
    main()

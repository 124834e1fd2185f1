#!/usr/bin/python3
"""Speaks the ten digits with espeak-ng and writes a .wav file of a second for each.

    record.py FOLDER [--train 9000] [--test 1600] [--seed 1]

FOLDER gets train/DIGIT/NUMBER.wav and test/DIGIT/NUMBER.wav. Every recording has a random voice, speed, pitch, volume, place
in its second, and noise 10 to 40 dB below it. Held-out recordings are spoken by variants of voices that no training recording
has; half of them in accents new as well. The same seed and espeak-ng give the same files. Needs Debian's espeak-ng and
python3-numpy.
"""
import argparse
import io
import os
import re
import subprocess
import wave

import numpy as np

RATE = 8000
DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine']
ACCENTS = ['en-gb', 'en-us', 'en-gb-scotland', 'en-gb-x-gbclan', 'en-gb-x-gbcwmd', 'en-029']
NEW_ACCENTS = ['en-us-nyc', 'en-gb-x-rp']  # held-out recordings alone have these


def variants():
    """names of the voices' variants, as '+NAME' takes them"""
    text = subprocess.run(['espeak-ng', '--voices=variant'], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r'!v/(\S+) *(?:\(|$)', text, re.MULTILINE)))


def speak(word, voice, speed, pitch, volume):
    """samples of a word at RATE, between -1 and 1, without the silence around it"""
    command = ['espeak-ng', '-v', voice, '-s', str(speed), '-p', str(pitch), '-a', str(volume), '--stdout', word]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    # the length in the header is that of an endless stream
    rate = wave.open(io.BytesIO(data)).getframerate()
    x = np.frombuffer(data[44:len(data) // 2 * 2], '<i2').astype(np.float64) / 32768
    loud = np.flatnonzero(np.abs(x) > 0.02 * np.abs(x).max())
    x = x[loud[0]:loud[-1] + 1]
    n = round(len(x) * RATE / rate)
    return np.fft.irfft(np.fft.rfft(x)[:n // 2 + 1], n) * n / len(x)


def second(x, random):
    """one second with the word at a random place, and noise"""
    free = RATE - len(x)
    if free < 0:
        x, free = x[:RATE], 0
    y = np.zeros(RATE)
    start = int(np.clip(free // 2 + random.integers(-RATE // 10, RATE // 10 + 1), 0, free))
    y[start:start + len(x)] = x
    noise = np.fft.rfft(random.standard_normal(RATE))
    noise /= np.maximum(np.arange(len(noise)), 20) ** random.uniform(0, 0.5)  # between white and pink
    noise = np.fft.irfft(noise, RATE)
    level = np.sqrt(np.mean(x ** 2) / np.mean(noise ** 2)) * 10 ** (-random.uniform(10, 40) / 20)
    return y + level * noise


def save(path, x):
    """samples between -1 and 1 as a .wav file of 16 bits"""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with wave.open(path, 'wb') as out:
        out.setparams((1, 2, RATE, 0, 'NONE', ''))
        out.writeframes(np.clip(np.round(32768 * x), -32768, 32767).astype('<i2').tobytes())


def record(folder, count, accents, speakers, random):
    """recordings; `accents` take turns with every ten digits"""
    for i in range(count):
        digit, choice = i % 10, accents[i // 10 % len(accents)]
        voice = str(random.choice(choice)) + '+' + str(random.choice(speakers))
        x = speak(DIGITS[digit], voice, random.integers(110, 231), random.integers(15, 86), random.integers(40, 161))
        save(os.path.join(folder, DIGITS[digit], '%03d.wav' % (i // 10)), second(x, random))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('folder')
    arguments.add_argument('--train', type=int, default=9000)
    arguments.add_argument('--test', type=int, default=1600)
    arguments.add_argument('--seed', type=int, default=1)
    options = arguments.parse_args()
    random = np.random.default_rng(options.seed)
    speakers = variants()
    random.shuffle(speakers)
    held_out, known = speakers[:len(speakers) // 4], speakers[len(speakers) // 4:]
    for part, count, accents, voices in (('train', options.train, [ACCENTS], known),
                                         ('test', options.test, [ACCENTS, NEW_ACCENTS], held_out)):
        record(os.path.join(options.folder, part), count, accents, voices, random)
        print('%s: %d recordings, %d variants of voices' % (part, count, len(voices)), flush=True)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Features of sound in float64, by the definitions of those who train with them; and recordings to compare with.

    features.py recordings FILE.npz COUNT SAMPLES     int16 recordings: voices, noise, tones, silence, full scale
    features.py front_end KIND                        prints the description of one of KINDS
    features.py features KIND IN.npz OUT.npz          of each recording
    features.py compare A.npz B.npz STEP              of the negatives of A and of B, the greatest difference in steps
    features.py files IN.npz FOLDER                   the recordings as .wav files of all formats
    features.py wrong_files IN.npz FOLDER
    features.py same_by_hops WHOLE.npz HOPS.npz LATE  the features of hops are those of whole recordings, LATE frames later
"""
import json
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, 'golden'))
import litert_signal  # noqa: E402


def hann(n):
    """periodic, as tf.signal.hann_window and torch.hann_window have it"""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def htk(hz):
    return 1127 * np.log1p(np.asarray(hz) / 700)


def triangles(points, at):
    lower, centre, upper = points[:-2], points[1:-1], points[2:]
    at = at[:, None]
    return np.maximum(0, np.minimum((at - lower) / (centre - lower), (upper - at) / (upper - centre)))


def spectra(x, window, hop, fft):
    frames = np.lib.stride_tricks.sliding_window_view(x, window)[::hop] * hann(window)
    return np.abs(np.fft.rfft(frames, fft))


def dct(x, count, same_scale):
    n = x.shape[-1]
    k = np.arange(count)[:, None]
    c = np.cos(np.pi * k * (np.arange(n) + 0.5) / n) * np.sqrt(2 / n)
    if not same_scale:
        c[0] /= np.sqrt(2)
    return x @ c.T


def mlperf_kws(x):
    """tf.signal.stft, linear_to_mel_weight_matrix and mfccs_from_log_mel_spectrograms, as MLPerf Tiny calls them"""
    x = x / 32768
    x = x / max(x.max(), 1 / 32768)
    bins = np.arange(257) * 16000 / 512
    weights = triangles(np.linspace(htk(20), htk(4000), 42), htk(bins))
    return dct(np.log(spectra(x, 480, 320, 512) @ weights + 1e-6), 10, True)


def tf_mfcc(x):
    """audio_spectrogram with magnitude_squared and the operator Mfcc, as tflm_kws computes them: 40 ms"""
    bins = np.arange(513) * 16000 / 1024
    weights = triangles(np.linspace(htk(20), htk(4000), 42), htk(bins))
    return dct(np.log(np.maximum(spectra(x / 32768, 640, 320, 1024) @ weights, 1e-12)), 10, True)


def micro_mel(hz):
    return np.float32(1127) * np.float32(np.log1p(np.float32(hz) / np.float32(700)))


def gains():
    """of the automatic gain control: of each octave of noise the polynomial of degree 2 through three points"""
    def gain(noise):
        x = np.float32(noise) / np.float32(128) + np.float32(80)
        return min(int(np.float32(2**21) * np.float32(float(x) ** -float(np.float32(0.95))) + np.float32(0.5)), 32767)
    table = [gain(0), gain(1)]
    for octave in range(2, 33):
        begin = 2**(octave - 1)
        y, middle, end = (gain(v) for v in (begin, begin + begin // 2, min(2 * begin, 2**32 - 1)))
        table += [y, 4 * (middle - y) - (end - y), 2 * (end - y) - 4 * (middle - y), 0]
    return table


def micro(x):
    """LiteRT's micro frontend of a recording, in Python's integers"""
    weights, table, noise, rows = np.zeros((42, 257), int), gains(), [0] * 40, []
    window = np.round(4096 * (0.5 - 0.5 * np.cos(2 * np.pi / 480 * (np.arange(480) + 0.5)))).astype(int)
    low, step = micro_mel(125), (micro_mel(7500) - micro_mel(125)) / np.float32(41)
    band = 0
    for k in range(5, 257):
        mel = micro_mel(k * 31.25)
        while band < 41 and mel > low + step * np.float32(band + 1):
            band += 1
        if band == 41:
            break
        centre, before = low + step * np.float32(band + 1), low + step * np.float32(band) if band else low
        share = (centre - mel) / (centre - before)
        weights[band, k], weights[band + 1, k] = int(share * 4096), int((1 - share) * 4096)
    used = weights.any(0)
    for at in range(0, len(x) - 479, 320):
        frame = np.clip(x[at:at + 480].astype(int) * window >> 12, -32768, 32767)
        shift = 15 - int(np.abs(frame).max()).bit_length() if frame.any() else 0
        s = litert_signal.rfft(frame << shift, 512).astype(object)
        energy = np.where(used, s[::2]**2 + s[1::2]**2, 0)
        row = []
        for c, v in enumerate(weights[1:41] @ energy):
            even, rest = (409, 16384 - 409) if c % 2 == 0 else (983, 16384 - 983)
            v, noise[c] = litert_signal.reduced(litert_signal.root(int(v)) >> shift, noise[c], even, rest, 819, 10, 14, 0)
            v = litert_signal.controlled(v, noise[c], table, 6) << 3 & 2**32 - 1
            row.append(litert_signal.log(v, 64) if v > 1 else 0)
        rows.append(row)
    return np.array(rows, float)


BANDS = {'rate': 16000, 'samples': 16000, 'hop': 320, 'power': 1, 'bands': 40, 'lowest': 20, 'highest': 4000,
         'coefficients': 10, 'dct': 'tf'}
KINDS = {'mlperf_kws': (mlperf_kws, {'window': 480, 'offset': 1e-6, 'peak': True}),
         'tf_mfcc': (tf_mfcc, {'window': 640, 'floor': 1e-12}),
         'micro': (micro, None)}


def recording(r, kind, samples):
    t = np.arange(samples) / 16000
    if kind == 0:  # vowels: harmonics of a falling pitch below two formants, in syllables
        phase = np.cumsum(r.uniform(90, 250) * (1 - 0.2 * t)) / 16000
        x = sum(np.sin(2 * np.pi * k * phase) / (1 + abs(k * 150 - r.uniform(300, 2500)) / 200) for k in range(1, 30))
        x = x * np.maximum(0, np.sin(2 * np.pi * r.uniform(1, 4) * t)) + r.normal(0, 10 ** r.uniform(-4, -1), samples)
    elif kind == 1:
        x = r.normal(0, 1, samples) * np.exp(-t * r.uniform(0, 8))
    elif kind == 2:
        x = np.sin(2 * np.pi * r.uniform(50, 7500) * t) + r.uniform(0, 0.01) * r.normal(0, 1, samples)
    elif kind == 3:
        x = np.cumsum(r.normal(0, 1, samples))
        x = x - x.mean() + 0 * t
    else:
        x = r.normal(0, 1, samples) * (r.random(samples) < 0.002)
    level = 32767 * 10 ** r.uniform(-2.5, 0)
    return np.round(x / np.abs(x).max() * level).astype(np.int16)


def write_wav(path, bits, rate, channels, data, tag=1):
    size = channels * bits // 8
    form = struct.pack('<HHIIHH', tag, channels, rate, rate * size, size, bits)
    body = b'WAVEfmt ' + struct.pack('<I', len(form)) + form + b'LIST\x04\0\0\0INFO' + b'data' + struct.pack('<I', len(data))
    with open(path, 'wb') as f:
        f.write(b'RIFF' + struct.pack('<I', len(body) + len(data)) + body + data)


def write_files(x, folder):
    """in each of the formats that hold 16 bits"""
    wide = (x.astype('<i4') << 16).view('u1').reshape(*x.shape, 4)
    for i in range(len(x)):
        path = os.path.join(folder, '%02d.wav' % i)
        write_wav(path, *((16, 16000, 1, x[i].astype('<i2').tobytes()), (24, 16000, 1, wide[i, :, 1:].tobytes()),
                          (32, 16000, 1, wide[i].tobytes()),
                          (32, 16000, 1, (x[i] / 32768).astype('<f4').tobytes(), 3))[i % 4])


def same_by_hops(whole, hops, late):
    whole = whole.reshape(len(whole), -1, whole.shape[-1])
    hops = hops.reshape(len(whole), -1, whole.shape[-1])[:, late:]
    frames = min(hops.shape[1], whole.shape[1])
    return len(np.unique(whole)) > 300 and frames > 47 and np.array_equal(hops[:, :frames], whole[:, :frames])


def first(path):
    return next(iter(np.load(path).values()))


def main():
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == 'recordings':
        r = np.random.default_rng(1)
        x = np.array([recording(r, i % 5, int(arguments[2])) for i in range(int(arguments[1]))])
        x[-1] = 0
        np.savez(arguments[0], samples=x)
    elif command == 'front_end':
        own = KINDS[arguments[0]][1]
        print(json.dumps({'audio': dict(BANDS, **own)} if own else {'micro_frontend': {'samples': 16000, 'factor': 1}}))
    elif command == 'features':
        compute = KINDS[arguments[0]][0]
        np.savez(arguments[2], features=np.array([compute(x.astype(float)) for x in first(arguments[1])]))
    elif command == 'compare':
        got, expected = -first(arguments[0]).astype(float), first(arguments[1])
        steps = np.abs(got.reshape(expected.shape) - expected) / float(arguments[2])
        print('%d recordings, greatest difference %.2f steps, mean %.3f' % (len(steps), steps.max(), steps.mean()))
        sys.exit(int(steps.max() > 1))
    elif command == 'same_by_hops':
        sys.exit(not same_by_hops(first(arguments[0]), first(arguments[1]), int(arguments[2])))
    else:
        x, folder = first(arguments[0]), arguments[1]
        os.makedirs(folder)
        if command == 'files':
            write_files(x, folder)
        else:
            sound = x[0].astype('<i2').tobytes()
            write_wav(os.path.join(folder, 'stereo.wav'), 16, 16000, 2, sound)
            write_wav(os.path.join(folder, 'slow.wav'), 16, 8000, 1, sound)
            write_wav(os.path.join(folder, 'long.wav'), 16, 16000, 1, 2 * sound)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Features of sound in float64, by the definitions of those who train with them; and recordings to compare with.

    audio_features.py recordings FILE.npz COUNT SAMPLES     int16 recordings: voices, noise, tones, silence, full scale
    audio_features.py features KIND IN.npz OUT.npz          of each recording, by one of KINDS
    audio_features.py compare A.npz B.npz STEP              the greatest difference, in units of a step
"""
import sys

import numpy as np


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


def torchaudio_mel(x):
    """torchaudio.transforms.MelSpectrogram(16000, n_fft=512, hop_length=160, n_mels=64) and AmplitudeToDB"""
    x = np.pad(x / 32768, 256, mode='reflect')
    hz = 700 * np.expm1(np.linspace(0, htk(8000), 66) / 1127)
    weights = triangles(hz, np.arange(257) * 16000 / 512)
    return 10 * np.log10(np.maximum(spectra(x, 512, 160, 512) ** 2 @ weights, 1e-10)).T


KINDS = {'mlperf_kws': mlperf_kws, 'tf_mfcc': tf_mfcc, 'torchaudio_mel': torchaudio_mel}


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


def main():
    command = sys.argv[1]
    if command == 'recordings':
        count, samples = map(int, sys.argv[3:5])
        r = np.random.default_rng(1)
        x = np.array([recording(r, i % 5, samples) for i in range(count)])
        x[-1] = 0
        np.savez(sys.argv[2], samples=x)
    elif command == 'features':
        x = np.load(sys.argv[3])['samples']
        np.savez(sys.argv[4], features=np.array([KINDS[sys.argv[2]](s.astype(float)) for s in x], np.float32))
    else:
        a, b = (next(iter(np.load(f).values())).astype(float) for f in sys.argv[2:4])
        difference = np.abs(a.ravel() - b.ravel()) / float(sys.argv[4])
        worst = difference.reshape(len(a), -1).max(1)
        print('%d recordings, greatest difference %.3f steps, mean %.5f' % (len(a), worst.max(), difference.mean()))
        sys.exit(worst.max() > 1)


if __name__ == '__main__':
    main()

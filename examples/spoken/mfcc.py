"""What the networks of this folder and of ../listen are trained on: the features that a front_end.json describes, in float."""
import json
import math
import wave

import numpy as np
import torch


def read_wav(path):
    """samples between -1 and 1"""
    with wave.open(path) as file:
        return torch.from_numpy(np.frombuffer(file.readframes(file.getnframes()), '<i2').astype(np.float32) / 32768)


def mel(frequency):
    return 1127 * torch.log1p(frequency / 700)


class Mfcc:
    """mel-frequency cepstral coefficients [recordings, frames, coefficients] of [recordings, samples]"""

    def __init__(self, front_end):
        with open(front_end) as file:
            a = json.load(file)['audio']
        self.window, self.hop, self.offset = a['window'], a['hop'], a['offset']
        self.fft = 1 << (self.window - 1).bit_length()
        bands, coefficients = a['bands'], a['coefficients']
        # Triangles over the bins of the spectrum, as wide as each other on the mel scale.
        low, high = mel(torch.tensor([float(a['lowest']), float(a['highest'])]))
        edges = torch.linspace(low, high, bands + 2)
        bins = mel(torch.arange(self.fft // 2 + 1) * a['rate'] / self.fft)[:, None]
        rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
        falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
        self.filters = torch.minimum(rising, falling).clamp(min=0)
        # The orthonormal DCT-II.
        k, n = torch.arange(coefficients)[None], torch.arange(bands)[:, None]
        scale = torch.where(k == 0, math.sqrt(1 / bands), math.sqrt(2 / bands))
        self.cosines = torch.cos(math.pi * k * (n + 0.5) / bands) * scale

    def __call__(self, x):
        frames = x.unfold(1, self.window, self.hop) * torch.hann_window(self.window)
        magnitudes = torch.fft.rfft(frames, self.fft).abs() @ self.filters
        return torch.log(magnitudes + self.offset) @ self.cosines

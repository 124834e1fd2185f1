"""Features of a second of vibration, in steps that a firmware takes as well: four FFTs, the sums of 128 bands, their
logarithms."""
import numpy as np

RATE = 8192
BANDS = 64
KNEE = 40.0  # Hz: below it bands are about as wide as each other, above it as wide as their frequency demands
FLOOR = 1e-4  # of the logarithm
STEPS = 16  # of a feature per unit


def band_filters(lowest, highest, resolution, bins):
    """triangles of BANDS filters over the bins of a spectrum, [bins, BANDS]"""
    edges = np.linspace(np.log1p(lowest / KNEE), np.log1p(highest / KNEE), BANDS + 2)
    at = np.log1p(np.arange(bins) * resolution / KNEE)[:, None]
    rising = (at - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - at) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(rising, falling))


FRAME = 4096  # three of them in a second, each half over the next
DECIMATION = 8
ENVELOPE = RATE // DECIMATION  # samples of a second
SPECTRUM_BANDS = band_filters(8, 4000, RATE / FRAME, FRAME // 2 + 1)
ENVELOPE_BANDS = band_filters(4, 400, 1, ENVELOPE // 2 + 1)
HANN_FRAME, HANN_ENVELOPE = np.hanning(FRAME), np.hanning(ENVELOPE)


def features(x):
    """[128] of a second of acceleration in g"""
    frames = np.lib.stride_tricks.sliding_window_view(x, FRAME)[::FRAME // 2] * HANN_FRAME
    spectrum = np.mean(np.abs(np.fft.rfft(frames)), 0) / FRAME
    # The second difference leaves what rings; its absolute value, averaged, is how loud it rings.
    ringing = np.abs(np.diff(x, 2, prepend=x[:2]))
    envelope = ringing.reshape(-1, DECIMATION).mean(1)
    pulses = np.abs(np.fft.rfft((envelope - envelope.mean()) * HANN_ENVELOPE)) / ENVELOPE
    logarithms = np.log(np.concatenate([spectrum @ SPECTRUM_BANDS, pulses @ ENVELOPE_BANDS]) + FLOOR)
    return (np.round(logarithms * STEPS) / STEPS).astype(np.float32)

"""MFCC of a second of sound, in steps that a firmware takes as well: for each frame a window, an FFT of 512, 40 sums,
40 logarithms, 10 sums. Run as a script, it prints the tables of mfcc.c."""
import numpy as np

RATE = 16000
WINDOW, STRIDE, FFT = 480, 320, 512  # 30 ms every 20 ms: 49 frames in a second
MELS, COEFFICIENTS = 40, 10
LOWEST, HIGHEST = 20.0, 4000.0  # Hz
FLOOR = 1e-6  # of the logarithm
STEPS = 8  # of a coefficient per unit: they fit 16 bits, and the program's int8 input has larger ones


def mel(frequency):
    return 1127 * np.log1p(frequency / 700)


def mel_filters():
    """triangles of MELS filters over the bins of the spectrum, [bins, MELS]"""
    edges = np.linspace(mel(LOWEST), mel(HIGHEST), MELS + 2)
    bins = mel(np.arange(FFT // 2 + 1) * RATE / FFT)[:, None]
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(rising, falling))


def cosines():
    """orthonormal DCT-II, [MELS, COEFFICIENTS]"""
    k, n = np.arange(COEFFICIENTS)[None], np.arange(MELS)[:, None]
    return np.cos(np.pi * k * (n + 0.5) / MELS) * np.where(k == 0, np.sqrt(1 / MELS), np.sqrt(2 / MELS))


FILTERS, COSINES, HANN = mel_filters(), cosines(), np.hanning(WINDOW)


def mfcc(x):
    """[1, 49, COEFFICIENTS] of a second of samples between -1 and 1"""
    frames = np.lib.stride_tricks.sliding_window_view(x, WINDOW)[::STRIDE] * HANN
    bands = np.abs(np.fft.rfft(frames, FFT)) @ FILTERS
    return (np.round(np.log(bands + FLOOR) @ COSINES * STEPS) / STEPS).astype(np.float32)[None]


def number(value):
    return float(np.float32(value)).hex() + 'F'


def table(name, values):
    return 'static const float %s = {\n%s};\n' % (name, ''.join('    %s,\n' % number(v) for v in values))


def main():
    for name, value in (('FFT', FFT), ('WINDOW', WINDOW), ('STRIDE', STRIDE), ('BANDS', MELS), ('FLOOR', '%gF' % FLOOR),
                        ('STEPS', '%.1fF' % STEPS)):
        print('#define MFCC_%s %s' % (name, value))
    bands = [np.flatnonzero(f) for f in FILTERS.T]
    print(table('mfcc_window[MFCC_WINDOW]', HANN))
    turns = 2 * np.pi * np.arange(FFT // 2) / FFT
    print(table('mfcc_cosine[MFCC_FFT / 2]', np.cos(turns)))
    print(table('mfcc_sine[MFCC_FFT / 2]', np.sin(turns)))
    print('/* bins that a band sums, with its weights one after the other */')
    print('static const struct {\n    unsigned short first, bins;\n} mfcc_band[MFCC_BANDS] = {')
    print(''.join('    {%d, %d},\n' % (b[0], len(b)) for b in bands) + '};\n')
    print(table('mfcc_weights[]', np.concatenate([f[b] for f, b in zip(FILTERS.T, bands)])))
    print('static const float mfcc_dct[MFCC_BANDS][%d] = {' % COEFFICIENTS)
    print(''.join('    {%s},\n' % ', '.join(map(number, row)) for row in COSINES) + '};')


if __name__ == '__main__':
    main()

"""LiteRT's signal operators: a front end for sound in integers, and transforms of several lengths.

Imported by litert_make.py. The arithmetic is that of tflite-micro's signal/src and of kissfft's 16 bits, frame by
frame; the noise estimate of spectral subtraction is a state.
"""
import math, struct

import numpy as np


def options(**numbers):
    """A FlexBuffer: a map of names to int32."""
    out, places = bytearray(), {}
    for key in sorted(numbers):
        places[key] = len(out)
        out += key.encode() + b'\0'
    out += bytes(-len(out) % 4) + struct.pack('<I', len(numbers))
    keys = len(out)
    for key in sorted(numbers):
        out += struct.pack('<I', len(out) - places[key])
    out += struct.pack('<III', len(out) - keys, 4, len(numbers))
    values = len(out)
    for key in sorted(numbers):
        out += struct.pack('<i', numbers[key])
    out += bytes([1 << 2 | 2] * len(numbers))
    return bytes(out + bytes([len(out) - values, 9 << 2 | 2, 1]))


# ---- the transform ----


def wrapped(v):
    return (v + 2**15) % 2**16 - 2**15


def rounded(v):
    return wrapped(v + 2**14 >> 15)


def times(a, b):
    return rounded(a[0] * b[0] - a[1] * b[1]), rounded(a[0] * b[1] + a[1] * b[0])


def plus(a, b):
    return wrapped(a[0] + b[0]), wrapped(a[1] + b[1])


def minus(a, b):
    return wrapped(a[0] - b[0]), wrapped(a[1] - b[1])


def divided(a, by):
    return rounded(a[0] * (32767 // by)), rounded(a[1] * (32767 // by))


def turn(angle):
    return math.floor(0.5 + 32767 * math.cos(angle)), math.floor(0.5 + 32767 * math.sin(angle))


def transform(x, whole):
    """Of complex numbers, by parts: each fourth, or each second where a fourth is no whole number."""
    n = len(x)
    if n == 1:
        return list(x)
    radix = 2 if n % 4 else 4
    m = n // radix
    parts = [transform(x[k::radix], whole) for k in range(radix)]
    out = [None] * n
    for i in range(m):
        p = [divided(parts[k][i], radix) for k in range(radix)]
        p = p[:1] + [times(p[k], turn(-2 * math.pi * k * i * (whole // n) / whole)) for k in range(1, radix)]
        if radix == 2:
            out[i], out[i + m] = plus(p[0], p[1]), minus(p[0], p[1])
            continue
        even, difference, odd, across = plus(p[0], p[2]), minus(p[0], p[2]), plus(p[1], p[3]), minus(p[1], p[3])
        across = across[1], wrapped(-across[0])
        out[i], out[i + m] = plus(even, odd), plus(difference, across)
        out[i + 2 * m], out[i + 3 * m] = minus(even, odd), minus(difference, across)
    return out


def rfft(frame, length):
    x = [int(v) for v in frame] + [0] * (length - len(frame))
    n = length // 2
    f = transform(list(zip(x[::2], x[1::2])), n)
    first = divided(f[0], 2)
    out = [None] * (n + 1)
    out[0], out[n] = (wrapped(sum(first)), 0), (wrapped(first[0] - first[1]), 0)
    for k in range(1, n // 2 + 1):
        a, b = divided(f[k], 2), divided((f[n - k][0], wrapped(-f[n - k][1])), 2)
        s, t = plus(a, b), times(minus(a, b), turn(-math.pi * ((k / n) + 0.5)))
        out[k] = s[0] + t[0] >> 1, s[1] + t[1] >> 1
        out[n - k] = s[0] - t[0] >> 1, t[1] - s[1] >> 1
    return np.array(out, 'int16').reshape(-1)


# ---- channels ----


def root(v):
    r = math.isqrt(v)
    most = 2**16 - 1 if v < 2**32 else 2**32 - 1
    return r + 1 if v - r * r > r and r != most else r


def log(v, scale):
    whole = v.bit_length() - 1
    part = v - (1 << whole)
    fraction = part << 16 - whole if whole < 16 else part >> whole - 16
    low, high = (round(65536 * (math.log2(1 + i / 128) - i / 128)) for i in (fraction >> 9, (fraction >> 9) + 1))
    log2 = (whole << 16) + fraction + low + ((high - low) * (fraction & 511) >> 16)
    return min(scale * (45426 * log2 + 2**15 >> 16) % 2**32 + 2**15 >> 16, 2**15 - 1)


def gain(noise, table):
    if noise <= 2:
        return table[noise]
    octave = noise.bit_length()
    value, slope, curve = table[4 * octave - 6:4 * octave - 3]
    fraction = (noise << 11 - octave if octave < 11 else noise >> octave - 11) & 0x3FF
    return value + (((curve * fraction >> 5) + (slope << 5)) * fraction + 2**14 >> 15)


def controlled(v, noise, table, shift):
    snr = v * gain(noise, table) >> shift & 2**32 - 1
    return snr * snr >> 20 if snr < 2 << 12 else (snr >> 6) - 64


def reduced(v, noise, factor, rest, least, smoothing_bits, bits, clamping):
    scaled = v << smoothing_bits & 2**32 - 1
    noise = scaled * factor + noise * rest >> bits
    taken = min(noise, scaled)
    return max(scaled - taken >> smoothing_bits, v * least >> bits), taken if clamping else noise


def add(cases, random):
    def custom(m, name, inputs, outputs, blob):
        tensors = [m.tensor(shape, dtype) for shape, dtype in outputs]
        m.ops.append((name, inputs, tensors, blob))
        return tensors

    def spectrum(length, size):
        def make(m):
            x = random.integers(-2**15, 2**15, (3, size)).astype('int16')
            x[1] >>= 9
            y = custom(m, 'SignalRfft', [m.input(x)], [((3, length + 2), 'int16')], options(T=7, fft_length=length))
            return y, [np.stack([rfft(frame, length) for frame in x])]
        cases.append(('SIGNAL.rfft.%d' % length, make))

    def front_end(name, clamping):
        runs, size, length, channels, scale_in = 6, 48, 64, 6, 12
        bins, start, end = length // 2 + 1, 1, 31

        def make(m):
            loud = np.array([3000, 20000, 0, 40, 9000, 32767])[:, None]
            x = np.clip(random.normal(0, 0.5, (runs, size)) * loud, -32768, 32767).astype('int16')
            window = np.array([round(4096 * math.sin(math.pi * (i + 0.5) / size)**2) for i in range(size)], 'int16')
            widths = np.array([2, 3, 4, 5, 6, 6, 4], 'int16')
            starts = (start + np.cumsum(widths) - widths).astype('int16')
            weights = random.integers(1, 4096, 30).astype('int16')
            rest = (4096 - weights).astype('int16')
            # Gains fall by half for each octave of noise: value, slope and curvature of each.
            table = [8191, 8191, 8191] + [0] * 122
            for octave in range(3, 33):
                at = 4 * octave - 6
                table[at:at + 4] = [8191 >> min(octave // 3, 12), -(40 >> octave // 8), 9, 0]
            table = table[:125]
            numbers = dict(smoothing=410, alternate_smoothing=983, one_minus_smoothing=16384 - 410,
                           alternate_one_minus_smoothing=16384 - 983, min_signal_remaining=819, smoothing_bits=10,
                           spectral_subtraction_bits=14, clamping=clamping, num_channels=channels)
            m.runs = runs
            t = m.input(x[0])
            m.inputs[-1] = (t, x)
            t, = custom(m, 'SignalWindow', [t, m.constant(window)], [((size,), 'int16')], options(shift=scale_in))
            t, bits = custom(m, 'SignalFftAutoScale', [t], [((size,), 'int16'), ((), 'int32')], options())
            t, = custom(m, 'SignalRfft', [t], [((length + 2,), 'int16')], options(T=7, fft_length=length))
            t, = custom(m, 'SignalEnergy', [t], [((bins,), 'uint32')], options(start_index=start, end_index=end))
            bank = [t] + [m.constant(c) for c in (weights, rest, starts, starts - np.int16(start), widths)]
            t, = custom(m, 'SignalFilterBank', bank, [((channels,), 'uint64')], options(num_channels=channels))
            t, = custom(m, 'SignalFilterBankSquareRoot', [t, bits], [((channels,), 'uint32')], options())
            t, noise = custom(m, 'SignalFilterBankSpectralSubtraction', [t], [((channels,), 'uint32')] * 2,
                              options(**numbers))
            t, = custom(m, 'SignalPCAN', [t, noise, m.constant(np.array(table, 'int16'))], [((channels,), 'uint32')],
                        options(snr_shift=6))
            logs, = custom(m, 'SignalFilterBankLog', [t], [((channels,), 'int16')],
                           options(output_scale=1600, input_correction_bits=3))
            m.ops.append(('CAST', [t], [m.tensor((channels,), 'int32')], {}))
            as_int = m.ops[-1][2][0]

            estimates, results, features = [0] * channels, [], []
            for frame in x:
                f = [int(np.clip(int(v) * int(w) >> scale_in, -32768, 32767)) for v, w in zip(frame, window)]
                shift = 15 - max(abs(v) for v in f).bit_length() if any(f) else 0
                s = [int(v) for v in rfft([v << shift for v in f], length)]
                energy = [s[2 * i]**2 + s[2 * i + 1]**2 if start <= i < end else 0 for i in range(bins)]
                sums = [0] * (channels + 2)
                for band in range(channels + 1):
                    for i in range(widths[band]):
                        k = starts[band] - start + i
                        sums[band] += int(weights[k]) * energy[starts[band] + i]
                        sums[band + 1] += int(rest[k]) * energy[starts[band] + i]
                row = []
                for c in range(channels):
                    which = 'alternate_' * (c & 1)
                    v, estimates[c] = reduced(root(sums[c + 1]) >> shift, estimates[c], numbers[which + 'smoothing'],
                                              numbers[which + 'one_minus_smoothing'], 819, 10, 14, clamping)
                    row.append(controlled(v, estimates[c], table, 6))
                results.append(row)
                features.append([log(v << 3 & 2**32 - 1, 1600) if v << 3 & 2**32 - 1 > 1 else 0 for v in row])
            return [as_int, logs], [np.array(results, 'int64').astype('int32'), np.array(features, 'int16')]
        cases.append(('SIGNAL.' + name, make))

    for length, size in ((4, 4), (8, 7), (16, 16), (64, 50), (128, 128), (512, 480)):
        spectrum(length, size)
    front_end('front_end', 0)
    front_end('front_end.clamped', 1)

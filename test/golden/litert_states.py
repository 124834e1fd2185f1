"""LiteRT models with a state, over several runs: SVDF and LSTM in the integers of LiteRT's kernels, variables.

Imported by litert_make.py. Each case sets `runs`; inputs and results have that many in their first dimension.
"""
import numpy as np

RUNS = 5

# sigmoid_table_uint16 of LiteRT: 2^16 / (1 + e^-(i / 24)).
SIGMOID = np.frombuffer(bytes.fromhex('''
800082ab855587fd8aa58d498feb9289952497b99a4a9cd59f5aa1d8a450a6c0a928ab88addfb02eb273b4afb6e1b909bb27bd3bbf44c143
c337c520c6fec8d1ca99cc57ce09cfb1d14dd2dfd466d5e3d755d8bdda1adb6edcb7ddf7df2de059e17ce297e3a8e4b0e5b0e6a8e798e87f
e95fea37eb08ebd2ec95ed51ee07eeb6ef5ff001f09ff136f1c8f254f2dcf35ef3dcf455f4caf53af5a6f60ef672f6d2f72ff788f7def830
f87ff8cbf915f95bf99ff9e0fa1efa5afa94faccfb01fb34fb65fb95fbc2fbeefc18fc40fc66fc8cfcaffcd1fcf2fd12fd30fd4dfd69fd84
fd9efdb6fdcefde5fdfbfe0ffe24fe37fe49fe5bfe6cfe7dfe8cfe9bfeaafeb8fec5fed2fedefeeafef5ff00ff0bff15ff1eff27ff30ff39
ff41ff48ff50ff57ff5eff65ff6bff71ff77ff7cff82ff87ff8cff91ff95ff99ff9effa2ffa5ffa9ffadffb0ffb3ffb6ffb9ffbcffbfffc2
ffc4ffc7ffc9ffcbffcdffd0ffd1ffd3ffd5ffd7ffd9ffdaffdcffddffdfffe0ffe1ffe3ffe4ffe5ffe6ffe7ffe8ffe9ffeaffebffecffed
ffedffeeffeffff0fff0fff1fff2fff2fff3fff3fff4fff4fff5fff5fff6fff6fff6fff7fff7fff8fff8fff8fff9fff9fff9fff9fffafffa
fffafffafffbfffbfffbfffbfffbfffcfffcfffcfffcfffcfffcfffdfffdfffdfffdfffdfffdfffdfffdfffefffefffefffefffefffefffe
fffefffefffeffff'''), '>u2').astype('int64')


def logistic(x):
    """Q0.15 of numbers in units of 2^-12 / 3."""
    size = np.abs(x)
    index = np.minimum(size >> 9, 254)
    value = np.where(size >> 9 >= 255, 0x7FFF << 10,
                     (SIGMOID[index] << 9) + (size & 511) * (SIGMOID[index + 1] - SIGMOID[index]))
    return np.where(x >= 0, value + 512, (1 << 25) - value + 511) >> 10


def tanh(x):
    size = np.abs(x)
    index = np.minimum(size >> 8, 254)
    value = np.where(size >> 8 >= 255, 0xFFFF << 8,
                     (SIGMOID[index] << 8) + (size & 255) * (SIGMOID[index + 1] - SIGMOID[index]))
    return np.where(x >= 0, value - (1 << 23) + 128, -value + (1 << 23) + 127) >> 8


def to_16(x):
    return np.clip(x, -2**15, 2**15 - 1)


def to_8(x):
    return np.clip(x, -128, 127)


def add(cases, random, plain):
    def sequence(m, values, **quantization):
        t = m.input(values[0], **quantization)
        m.inputs[-1] = (t, values)
        m.runs = len(values)
        return t

    def int8(*shape):
        return random.integers(-127, 128, shape).astype('int8')

    def real(*shape):
        return random.uniform(-1, 1, shape).astype('float32')

    def svdf(name, kind, rank):
        """State and times are of `kind`; batches of two frames."""
        def make(m):
            inputs, units, memory, rows = 7, 4, 5, 4 * rank
            scales = [np.float32(s) for s in (0.05, 0.01, *((0.06, 0.009) if kind == 'int8' else (3e-4, 3e-5)), 0.03)]
            zeros = (-3, 5 if kind == 'int8' else 0, -20)
            most = np.iinfo(kind).max
            x, features = int8(RUNS, 2, inputs), int8(rows, inputs)
            times = random.integers(-most // 8, most // 8, (rows, memory)).astype(kind)  # no sum exceeds 32 bits
            bias = random.integers(-2000, 2000, units).astype('int32')
            state, results = np.full((2, rows, memory), zeros[1], 'int64'), []
            for frame in x.astype('int64'):
                sums = (frame - zeros[0]) @ features.astype('int64').T
                new = np.clip(plain(sums, float(scales[0] * scales[1] / scales[2])), -most - 1, most) + zeros[1]
                state = np.concatenate([state[:, :, 1:], new[:, :, None]], 2)
                state = state.astype(kind).astype('int64')  # what exceeds it wraps
                sums = ((state - zeros[1]) * times).sum(2).reshape(2, units, rank).sum(2) + bias
                results.append(to_8(plain(sums, float(scales[2] * scales[3] / scales[4])) + zeros[2]))
            operands = [sequence(m, x, scale=scales[0], zero_point=zeros[0]), m.constant(features, scale=scales[1]),
                        m.constant(times, scale=scales[3]), m.constant(bias, scale=scales[2] * scales[3]),
                        m.tensor((2, rows * memory), kind, scale=scales[2], zero_point=zeros[1], variable=True)]
            y = np.stack(results).astype('int8')
            return [m.add('SVDF', operands, y.shape[1:], 'int8', {0: ('i', rank), 1: ('b', 0)}, scale=scales[4],
                          zero_point=zeros[2])], [y]
        cases.append(('SVDF.' + name, make))

    def real_svdf(m):
        inputs, units, memory, rank = 6, 3, 4, 2
        x, features, times, bias = real(RUNS, 2, inputs), real(6, inputs), real(6, memory), real(units)
        state, results = np.zeros((2, 6, memory)), []
        for frame in x:
            state = np.concatenate([state[:, :, 1:], (frame @ features.T.astype('float64'))[:, :, None]], 2)
            results.append(np.maximum((state * times).sum(2).reshape(2, units, rank).sum(2) + bias, 0))
        operands = [sequence(m, x), *(m.constant(v) for v in (features, times, bias)),
                    m.tensor((2, 6 * memory), variable=True)]
        y = np.stack(results).astype('float32')
        return [m.add('SVDF', operands, y.shape[1:], options={0: ('i', rank), 1: ('b', 1)})], [y]

    def integer_lstm(name, time_major, cell_scale, clip, words=None):
        """words: how sums of 64 bits are requantized, of input and states in int16, else in int8."""
        requantized, least = (words or plain), 2**15 if words else 2**7

        def make(m):
            kind, batch, steps, features, units = 'int16' if words else 'int8', 2, 3, 5, 6
            sizes = RUNS, *((steps, batch) if time_major else (batch, steps)), features
            x = random.integers(-least, least, sizes).astype(kind) if words else int8(*sizes)
            in_scale, h_scale, in_zero, h_zero = np.float32(0.03), np.float32(0.0078), -7, 3
            if words:
                in_scale, h_scale, in_zero, h_zero = np.float32(0.00011), np.float32(2**-15), 0, 0
            w, r = int8(4, units, features), int8(4, units, units)
            bias = random.integers(-3000, 3000, (4, units)).astype('int32')
            if words:
                bias = random.integers(-2**20, 2**20, (4, units))
            scales = [np.float32(0.006 + 0.001 * k) for k in range(4)]
            h, c, results = np.full((batch, units), h_zero), np.zeros((batch, units), 'int64'), []
            for sample in x.astype('int64'):
                outputs = []
                for t in range(steps):
                    now, gates = sample[t] if time_major else sample[:, t], []
                    for k in range(4):
                        of_x = requantized((now - in_zero) @ w[k].astype('int64').T + bias[k],
                                           float(in_scale * scales[k]) * 4096)
                        of_h = requantized((h - h_zero) @ r[k].astype('int64').T, float(h_scale * scales[k]) * 4096)
                        sums = 3 * to_16(to_16(of_x) + to_16(of_h))
                        gates.append(tanh(sums) if k == 2 else logistic(sums))
                    kept = to_16(plain(gates[1] * c, 2**-15))
                    c = to_16(kept + to_16(plain(gates[0] * gates[2], 2**-30 / cell_scale)))
                    c = np.clip(c, -int(clip / cell_scale), int(clip / cell_scale)) if clip else c
                    bent = tanh(np.floor(c * 3 * cell_scale * 4096 + 0.5).astype('int64'))
                    h = np.clip(plain(bent * gates[3], 2**-30 / float(h_scale)) + h_zero, -least, least - 1)
                    outputs.append(h)
                results.append(np.stack(outputs, 0 if time_major else 1))
            y = np.stack(results).astype(kind)
            operands = [sequence(m, x, scale=in_scale, zero_point=in_zero)]
            operands += [m.constant(v, scale=s) for v, s in zip(w, scales)]
            operands += [m.constant(v, scale=s) for v, s in zip(r, scales)]
            operands += [-1] * 3 + [m.constant(v, scale=in_scale * s) for v, s in zip(bias, scales)] + [-1] * 2
            operands += [m.tensor((batch, units), kind, scale=h_scale, zero_point=h_zero, variable=True),
                         m.tensor((batch, units), 'int16', scale=cell_scale, variable=True)] + [-1] * 4
            options = {0: ('b', 4), 1: ('f', clip), 3: ('?', time_major)}
            return [m.add('UNIDIRECTIONAL_SEQUENCE_LSTM', operands, y.shape[1:], kind, options, scale=h_scale,
                          zero_point=h_zero)], [y]
        cases.append((('int16.' if words else '') + 'UNIDIRECTIONAL_SEQUENCE_LSTM.' + name, make))

    def whole_lstm(m):
        """Peepholes, norms, a projection, clips, and an input gate that is what the forget gate leaves."""
        batch, steps, features, units, outputs = 2, 3, 4, 5, 3
        x, w, r = real(RUNS, batch, steps, features), real(4, units, features), real(4, units, outputs)
        bias, peephole, norm, p, q = real(4, units), real(4, units), real(4, units), real(outputs, units), real(outputs)
        h, c, results = np.zeros((batch, outputs)), np.zeros((batch, units)), []

        def gate(k, now, cell):
            sums = now @ w[k].T.astype('float64') + h @ r[k].T + cell * (peephole[k] if k != 2 else 0)
            sums = (sums - sums.mean(1, keepdims=True)) / np.sqrt(sums.var(1, keepdims=True) + 1e-8)
            sums = sums * norm[k] + bias[k]
            return np.tanh(sums) if k == 2 else 1 / (1 + np.exp(-sums))

        for sample in x:
            steps_out = []
            for t in range(steps):
                forget = gate(1, sample[:, t], c)
                c = np.clip(forget * c + (1 - forget) * gate(2, sample[:, t], c), -0.6, 0.6)
                h = np.clip((gate(3, sample[:, t], c) * np.tanh(c)) @ p.T + q, -0.9, 0.9)
                steps_out.append(h)
            results.append(np.stack(steps_out, 1))
        constants = lambda values: [-1, *(m.constant(v) for v in values[1:])]
        operands = [sequence(m, x), *constants(w), *constants(r), -1, m.constant(peephole[1]), m.constant(peephole[3]),
                    *constants(bias), m.constant(p), m.constant(q), m.tensor((batch, outputs), variable=True),
                    m.tensor((batch, units), variable=True), *constants(norm)]
        y = np.stack(results).astype('float32')
        return [m.add('UNIDIRECTIONAL_SEQUENCE_LSTM', operands, y.shape[1:],
                      options={0: ('b', 4), 1: ('f', 0.6), 2: ('f', 0.9)})], [y]

    def variable(name, begin):
        """A sum over all runs, which begins with a constant or, without CALL_ONCE, with zeros."""
        def make(m):
            x, first, total, results = real(RUNS, 1, 2, 3, 2), real(1, 2, 3, 2), np.zeros((1, 2, 3, 2), 'float32'), []
            t = sequence(m, x)
            total = first if begin else total
            for value in x:
                total = total + value
                results.append(total * value)
            if begin:
                m.ops.append(('CALL_ONCE', [], [], {0: ('i', 1)}))
                m.then = lambda init: init.ops.extend([
                    ('VAR_HANDLE', [], [handle(init)], named), ('ASSIGN_VARIABLE', [0, init.constant(first)], [], {})])
            handle = lambda model: model.tensor((), 'resource')
            named = {0: ('ref', ''), 1: ('ref', 'total')}
            place = handle(m)
            m.ops.append(('VAR_HANDLE', [], [place], named))
            before = m.add('READ_VARIABLE', [place], x.shape[1:])
            after = m.add('ADD', [before, t], x.shape[1:], options={0: ('b', 0)})
            m.ops.append(('ASSIGN_VARIABLE', [place, after], [], {}))
            return [m.add('MUL', [after, t], x.shape[1:], options={0: ('b', 0)})], [np.stack(results)]
        cases.append(('VARIABLE.' + name, make))

    svdf('int8', 'int8', 1)
    svdf('rank', 'int8', 3)
    svdf('int16', 'int16', 2)
    cases.append(('SVDF', real_svdf))
    integer_lstm('in_integers', False, 2.0**-11, 0)
    integer_lstm('in_integers_clipped', True, 2.0**-12, 1.25)
    cases.append(('UNIDIRECTIONAL_SEQUENCE_LSTM.whole', whole_lstm))
    variable('zeros', False)
    variable('constant', True)
    return integer_lstm

#!/usr/bin/python3
"""Makes the LiteRT models that the golden test compiles, and what numpy computes for them.

    litert_make.py litert.zip [REGEX]       REGEX: only models of such a name
    litert_make.py uint8.zip '^uint8[.]'    models in uint8, which compute what LiteRT does where no NPU runs them
    litert_make.py int16.zip '^int16[.]'    models in int16 with weights in int8, which compute what LiteRT Micro does

Each model is one operator, or a few that occur together, in the forms that converters write: float32 with and without
fused activations, float32 with weights in int8 or float16, int8 where values are only moved. Formulas are those of
LiteRT's reference kernels, computed in double precision where it matters. golden.c says how the file is laid out. The
same numpy gives the same file.
"""
import json, math, re, struct, sys, zipfile

import numpy as np

import litert_signal
import litert_states

# ---- FlatBuffers: tables are dictionaries of field: (kind, value), kinds those of struct or 'ref' ----


class Vector:
    def __init__(self, kind, values):
        self.kind, self.values = kind, list(values)


class Blob:
    def __init__(self, content):
        self.content = content


def flatbuffer(root, identifier):
    """Every object lies behind all that refer to it."""
    out, later = bytearray(8), []
    out[4:8] = identifier

    def pad(to, ahead=0):
        out.extend(bytes(-(len(out) + ahead) % to))

    def table(fields):
        size, places = 4, {}
        for field in sorted(fields, key=lambda f: (-struct.calcsize(fields[f][0].replace('ref', 'I')), f)):
            width = struct.calcsize(fields[field][0].replace('ref', 'I'))
            size += -size % width
            places[field], size = size, size + width
        entries = [places.get(f, 0) for f in range(max(fields, default=-1) + 1)]
        pad(8)
        vtable = len(out)
        out.extend(struct.pack('<%dH' % (2 + len(entries)), 4 + 2 * len(entries), size, *entries))
        pad(8)
        at = len(out)
        out.extend(bytes(size))
        struct.pack_into('<i', out, at, at - vtable)
        for field, (kind, value) in fields.items():
            if kind == 'ref':
                later.append((at + places[field], value))
            else:
                struct.pack_into('<' + kind, out, at + places[field], value)
        return at

    def vector(kind, values):
        pad(max(4, struct.calcsize(kind)), 4)
        at = len(out)
        out.extend(struct.pack('<I%d%s' % (len(values), kind), len(values), *values))
        return at

    def place(value):
        if isinstance(value, dict):
            return table(value)
        if isinstance(value, Vector):
            return vector(value.kind, value.values)
        if isinstance(value, str):
            at = vector('B', value.encode())
            out.append(0)
            return at
        if isinstance(value, Blob):
            pad(16, 4)
            at = len(out)
            out.extend(struct.pack('<I', len(value.content)) + value.content)
            return at
        pad(4)
        at = len(out)
        out.extend(struct.pack('<I', len(value)) + bytes(4 * len(value)))
        later.extend((at + 4 + 4 * i, item) for i, item in enumerate(value))
        return at

    struct.pack_into('<I', out, 0, place(root))
    while later:
        position, value = later.pop(0)
        struct.pack_into('<I', out, position, place(value) - position)
    return bytes(out)


TYPES = {'float32': 0, 'float16': 1, 'int32': 2, 'uint8': 3, 'int64': 4, 'bool': 6, 'int16': 7, 'int8': 9,
         'resource': 13, 'uint64': 12, 'uint32': 15, 'string': 5, 'int4': 17}

# Operators: number, number of the options.
OPERATORS = {
    'ADD': (0, 11), 'AVERAGE_POOL_2D': (1, 5), 'CONCATENATION': (2, 10), 'CONV_2D': (3, 1), 'DEPTHWISE_CONV_2D': (4, 2),
    'DEPTH_TO_SPACE': (5, 94), 'DEQUANTIZE': (6, 38), 'EMBEDDING_LOOKUP': (7, 0), 'FLOOR': (8, 0),
    'FULLY_CONNECTED': (9, 8), 'L2_NORMALIZATION': (11, 12), 'L2_POOL_2D': (12, 5), 'LOGISTIC': (14, 0),
    'MAX_POOL_2D': (17, 5), 'MUL': (18, 21), 'RELU': (19, 0), 'RELU_N1_TO_1': (20, 0), 'RELU6': (21, 0),
    'RESHAPE': (22, 17), 'RESIZE_BILINEAR': (23, 15), 'SOFTMAX': (25, 9), 'SPACE_TO_DEPTH': (26, 19), 'TANH': (28, 0),
    'PAD': (34, 22), 'UNIDIRECTIONAL_SEQUENCE_RNN': (35, 31), 'GATHER': (36, 23), 'BATCH_TO_SPACE_ND': (37, 24),
    'SPACE_TO_BATCH_ND': (38, 25), 'TRANSPOSE': (39, 26), 'MEAN': (40, 27), 'SUB': (41, 28), 'DIV': (42, 29),
    'SQUEEZE': (43, 30), 'UNIDIRECTIONAL_SEQUENCE_LSTM': (44, 71), 'STRIDED_SLICE': (45, 32), 'EXP': (47, 33),
    'TOPK_V2': (48, 34), 'SPLIT': (49, 35), 'LOG_SOFTMAX': (50, 36), 'CAST': (53, 37), 'PRELU': (54, 0),
    'MAXIMUM': (55, 39), 'ARG_MAX': (56, 40), 'MINIMUM': (57, 39), 'LESS': (58, 41), 'NEG': (59, 42), 'PADV2': (60, 43),
    'GREATER': (61, 44), 'GREATER_EQUAL': (62, 45), 'LESS_EQUAL': (63, 46), 'SELECT': (64, 47), 'SLICE': (65, 48),
    'SIN': (66, 0), 'TRANSPOSE_CONV': (67, 49), 'TILE': (69, 51), 'EXPAND_DIMS': (70, 52), 'EQUAL': (71, 53),
    'NOT_EQUAL': (72, 54), 'LOG': (73, 0), 'SUM': (74, 27), 'SQRT': (75, 0), 'RSQRT': (76, 0), 'SHAPE': (77, 55),
    'POW': (78, 56), 'ARG_MIN': (79, 57), 'REDUCE_PROD': (81, 27), 'REDUCE_MAX': (82, 27), 'PACK': (83, 59),
    'LOGICAL_OR': (84, 60), 'ONE_HOT': (85, 61), 'LOGICAL_AND': (86, 62), 'LOGICAL_NOT': (87, 63), 'UNPACK': (88, 64),
    'REDUCE_MIN': (89, 27), 'FLOOR_DIV': (90, 65), 'REDUCE_ANY': (91, 27), 'SQUARE': (92, 66), 'FILL': (94, 68),
    'FLOOR_MOD': (95, 72), 'QUANTIZE': (114, 89), 'RESIZE_NEAREST_NEIGHBOR': (97, 74), 'LEAKY_RELU': (98, 75), 'SQUARED_DIFFERENCE': (99, 76),
    'MIRROR_PAD': (100, 77), 'ABS': (101, 78), 'SPLIT_V': (102, 79), 'CEIL': (104, 0), 'REVERSE_V2': (105, 81),
    'ADD_N': (106, 82), 'GATHER_ND': (107, 83), 'COS': (108, 84), 'ELU': (111, 0), 'ROUND': (116, 0),
    'HARD_SWISH': (117, 91), 'SELECT_V2': (123, 98), 'DENSIFY': (124, 99), 'BATCH_MATMUL': (126, 101), 'CUMSUM': (128, 102),
    'BROADCAST_TO': (130, 104), 'REDUCE_ALL': (140, 27), 'GELU': (150, 116), 'RELU_0_TO_1': (152, 0), 'SIGN': (158, 123),
    'LOCAL_RESPONSE_NORMALIZATION': (13, 13), 'SCATTER_ND': (122, 97), 'SVDF': (27, 6), 'CALL_ONCE': (129, 103), 'VAR_HANDLE': (142, 111), 'READ_VARIABLE': (143, 112),
    'ASSIGN_VARIABLE': (144, 113), 'BROADCAST_ARGS': (145, 0), 'DYNAMIC_UPDATE_SLICE': (151, 117),
}


class Model:
    """
    One subgraph, and another one that `then` fills. Tensors are numbers. Inputs and results of several runs have these
    as their first dimension.
    """
    def __init__(self):
        self.tensors, self.buffers, self.ops, self.inputs, self.runs, self.then = [], [b''], [], [], 1, None

    def tensor(self, shape, dtype='float32', content=None, scale=None, zero_point=0, axis=0, variable=False):
        if content is not None:
            self.buffers.append(content)
        fields = {0: ('ref', Vector('i', shape)), 1: ('b', TYPES[str(dtype)]),
                  2: ('I', 0 if content is None else len(self.buffers) - 1),
                  3: ('ref', 't%d' % len(self.tensors))}
        if scale is not None:
            scales = np.atleast_1d(scale)
            fields[4] = ('ref', {2: ('ref', Vector('f', [float(s) for s in scales])),
                                 3: ('ref', Vector('q', [zero_point] * len(scales))), 6: ('i', axis)})
        if variable:
            fields[5] = ('?', True)
        self.tensors.append(fields)
        return len(self.tensors) - 1

    def constant(self, values, **quantization):
        values = np.asarray(values)
        return self.tensor(values.shape, values.dtype, np.ascontiguousarray(values).tobytes(), **quantization)

    def input(self, values, **quantization):
        t = self.tensor(values.shape, values.dtype, **quantization)
        self.inputs.append((t, values))
        return t

    def add(self, operator, inputs, shape, dtype='float32', options=None, **quantization):
        """An operator with one result, which is returned."""
        t = self.tensor(shape, dtype, **quantization)
        self.ops.append((operator, list(inputs), [t], options or {}))
        return t

    def content(self, outputs):
        graphs = [(self, outputs)]
        if self.then:
            other = Model()
            other.buffers = self.buffers
            self.then(other)
            graphs.append((other, []))
        # Each custom operator has a code of its own, which its name goes with.
        def code_of(name):
            code = OPERATORS.get(name, (32, 0))[0]
            return code, name if code == 32 else ''
        codes = sorted({code_of(name) for g, _ in graphs for name, *_ in g.ops})
        subgraphs = []
        for g, results in graphs:
            ops = []
            for name, inputs, made, options in g.ops:
                code, kind = OPERATORS.get(name, (32, 0))
                fields = {0: ('I', codes.index(code_of(name))), 1: ('ref', Vector('i', inputs)), 2: ('ref', Vector('i', made))}
                if kind:
                    fields.update({3: ('B', kind), 4: ('ref', options)})
                if code == 32:
                    fields[5] = ('ref', Vector('B', options))
                ops.append(fields)
            subgraphs.append({0: ('ref', g.tensors), 1: ('ref', Vector('i', [t for t, _ in g.inputs])),
                              2: ('ref', Vector('i', results)), 3: ('ref', ops), 4: ('ref', 'main')})
        return flatbuffer({
            0: ('I', 3), 2: ('ref', subgraphs), 3: ('ref', 'golden'),
            1: ('ref', [{0: ('b', min(c, 127)), 2: ('i', 1), 3: ('i', c), **({1: ('ref', name)} if name else {})}
                        for c, name in codes]),
            4: ('ref', [{0: ('ref', Blob(b))} if b else {} for b in self.buffers])}, b'TFL3')


# ---- cases ----

cases = []          # name, function of a Model that returns output tensors and their values
random = np.random.default_rng(7)
IMAGE = (1, 4, 5, 3)


def case(name):
    def add(function):
        cases.append((name, function))
    return add


def real(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype('float32')


def whole(*shape, low=-9, high=9, dtype='int32'):
    return random.integers(low, high, shape).astype(dtype)


def ints(*values):
    return np.array(values, 'int32')


def as_operand(o, low, high):
    return o if isinstance(o, np.ndarray) else real(*o, low=low, high=high)


def operator(name, operator, formula, operands, options=None, constants=(), order=None, low=-2.0, high=2.0, scale=None):
    """One operator on inputs (values, or shapes of random float ones), then constants, in `order` if it is another."""
    def make(m):
        values = [as_operand(o, low, high) for o in operands]
        quantized = {} if scale is None else {'scale': scale, 'zero_point': -3}
        tensors = [m.input(v, **quantized) for v in values] + [m.constant(c) for c in constants]
        results = formula(*values)
        results = results if isinstance(results, list) else [results]
        results = [np.ascontiguousarray(r) for r in results]
        outputs = [m.tensor(r.shape, r.dtype, **(quantized if r.dtype == np.int8 else {})) for r in results]
        m.ops.append((operator, [tensors[i] for i in order] if order else tensors, outputs, options or {}))
        return outputs, results
    cases.append((name, make))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return x * np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))(x)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def at_float(function):
    """In double precision, float32 in the end."""
    return lambda *x: np.asarray(function(*(v.astype('float64') for v in x))).astype('float32')


FUNCTIONS = {
    'RELU': lambda x: np.maximum(x, 0), 'RELU6': lambda x: np.clip(x, 0, 6), 'RELU_N1_TO_1': lambda x: np.clip(x, -1, 1),
    'RELU_0_TO_1': lambda x: np.clip(x, 0, 1), 'TANH': np.tanh, 'LOGISTIC': sigmoid, 'EXP': np.exp, 'ABS': np.abs,
    'NEG': np.negative, 'FLOOR': np.floor, 'CEIL': np.ceil, 'ROUND': np.round, 'SIN': np.sin, 'COS': np.cos,
    'SQUARE': np.square, 'SIGN': np.sign, 'ELU': lambda x: np.where(x > 0, x, np.expm1(x)),
    'HARD_SWISH': lambda x: x * np.clip(x + 3, 0, 6) / 6,
}
for name, formula in FUNCTIONS.items():
    operator(name, name, at_float(formula), [IMAGE])
for name, formula in {'SQRT': np.sqrt, 'RSQRT': lambda x: 1 / np.sqrt(x), 'LOG': np.log}.items():
    operator(name, name, at_float(formula), [(3, 7)], low=0.1, high=4.0)
operator('GELU', 'GELU', at_float(gelu), [IMAGE])
operator('GELU.tanh', 'GELU', at_float(gelu_tanh), [(3, 7)], {0: ('?', True)})
operator('LEAKY_RELU', 'LEAKY_RELU', at_float(lambda x: np.where(x > 0, x, 0.25 * x)), [IMAGE], {0: ('f', 0.25)})

PAIRS = {
    'ADD': np.add, 'SUB': np.subtract, 'MUL': np.multiply, 'DIV': np.divide, 'MAXIMUM': np.maximum,
    'MINIMUM': np.minimum, 'SQUARED_DIFFERENCE': lambda a, b: (a - b)**2, 'FLOOR_DIV': lambda a, b: np.floor(a / b),
    'FLOOR_MOD': np.mod,
}
COMPARISONS = {'LESS': np.less, 'GREATER': np.greater, 'GREATER_EQUAL': np.greater_equal, 'LESS_EQUAL': np.less_equal,
               'EQUAL': np.equal, 'NOT_EQUAL': np.not_equal}
SHAPES = {'image': [IMAGE, IMAGE], 'channels': [IMAGE, (3,)], 'rows': [IMAGE, (5, 3)], 'both': [(2, 1, 4), (3, 1)]}
for name, formula in PAIRS.items():
    for shape, operands in SHAPES.items():
        operator(f'{name}.{shape}', name, formula, operands)
for name, formula in COMPARISONS.items():
    operator(name, name, formula, [whole(*IMAGE).astype('float32'), whole(3).astype('float32')])
    operator(name + '.int32', name, formula, [whole(2, 3), whole(2, 3)])
operator('POW', 'POW', at_float(np.power), [IMAGE, IMAGE], low=0.2)
operator('ADD.relu', 'ADD', lambda a, b: np.maximum(a + b, 0), [IMAGE, IMAGE], {0: ('b', 1)})
operator('MUL.relu6', 'MUL', lambda a, b: np.clip(a * b, 0, 6), [IMAGE, IMAGE], {0: ('b', 3)})
operator('ADD_N', 'ADD_N', lambda a, b, c: a + b + c, [IMAGE, IMAGE, IMAGE])
operator('ADD.int32', 'ADD', np.add, [whole(2, 3), whole(2, 3)])
operator('DIV.int32', 'DIV', lambda a, b: np.trunc(a / b).astype('int32'), [whole(2, 3), whole(2, 3, low=1)])
operator('LOGICAL_NOT', 'LOGICAL_NOT', np.logical_not, [whole(2, 3, low=0, high=2, dtype='bool')])
for name, formula in {'LOGICAL_AND': np.logical_and, 'LOGICAL_OR': np.logical_or}.items():
    operator(name, name, formula, [whole(2, 3, low=0, high=2, dtype='bool'), whole(2, 3, low=0, high=2, dtype='bool')])

operator('SOFTMAX', 'SOFTMAX', at_float(softmax), [IMAGE], {0: ('f', 1.0)})
operator('SOFTMAX.beta', 'SOFTMAX', at_float(lambda x: softmax(2 * x)), [(2, 7)], {0: ('f', 2.0)})
operator('LOG_SOFTMAX', 'LOG_SOFTMAX', at_float(lambda x: np.log(softmax(x))), [IMAGE])
operator('L2_NORMALIZATION', 'L2_NORMALIZATION',
         at_float(lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True))), [IMAGE])

for name, formula in {'MEAN': np.mean, 'SUM': np.sum, 'REDUCE_MAX': np.max, 'REDUCE_MIN': np.min,
                      'REDUCE_PROD': np.prod}.items():
    for axes in ((1, 2), (-1,), (1,), (2, 3)):
        for keep in (False, True):
            operator(f'{name}.{axes}.{keep}', name,
                     at_float(lambda x, formula=formula, axes=axes, keep=keep: formula(x, axis=axes, keepdims=keep)),
                     [IMAGE], {0: ('?', keep)}, [ints(*axes)])
operator('SUM.int32', 'SUM', lambda x: x.sum(1).astype('int32'), [whole(2, 3)], constants=[ints(1)])
operator('REDUCE_ANY', 'REDUCE_ANY', lambda x: x.any(1), [whole(2, 5, low=0, high=2, dtype='bool')],
         constants=[ints(1)])
operator('REDUCE_ALL', 'REDUCE_ALL', lambda x: x.all(1), [whole(3, 2, low=0, high=2, dtype='bool')],
         constants=[ints(1)])
operator('CUMSUM', 'CUMSUM', lambda x: np.cumsum(x, 1), [IMAGE], constants=[np.int32(1)])
operator('CUMSUM.exclusive', 'CUMSUM', lambda x: np.cumsum(np.pad(x, [(0, 0), (1, 0)]), 1)[:, :-1], [(3, 6)],
         {0: ('?', True)}, [np.int32(1)])
operator('CUMSUM.reverse', 'CUMSUM', lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1], [(3, 6)], {1: ('?', True)},
         [np.int32(1)])

# ---- moves: of float32, and of int8 with one quantization ----


def mirrored(x):
    return np.pad(x, [(0, 0), (1, 2), (0, 1), (0, 0)], mode='symmetric')


def space_to_depth(x, b=2):
    n, h, w, c = x.shape
    return x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // b, w // b, b * b * c)


def depth_to_space(x, b=2):
    n, h, w, c = x.shape
    return x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5).reshape(n, h * b, w * b, c // (b * b))


def space_to_batch(x):
    x = np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 0)])
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(2, 4, 0, 1, 3, 5).reshape(n * 4, h // 2, w // 2, c)


def batch_to_space(x):
    n, h, w, c = x.shape
    y = x.reshape(2, 2, n // 4, h, w, c).transpose(2, 3, 0, 4, 1, 5).reshape(n // 4, h * 2, w * 2, c)
    return y[:, :-1, 1:]


PADS = np.array([[0, 0], [1, 2], [0, 1], [0, 0]], 'int32')
MOVES = [
    ('RESHAPE', 'RESHAPE', lambda x: x.reshape(1, 20, 3), [IMAGE], None, [ints(1, 20, 3)]),
    ('RESHAPE.image', 'RESHAPE', lambda x: x.reshape(1, 5, 4, 3), [IMAGE], None, [ints(1, 5, 4, 3)]),
    ('SQUEEZE', 'SQUEEZE', lambda x: x[0], [IMAGE]),
    ('EXPAND_DIMS', 'EXPAND_DIMS', lambda x: x[:, None], [(2, 3)], None, [np.int32(1)]),
    ('CONCATENATION', 'CONCATENATION', lambda a, b: np.concatenate([a, b], 3), [IMAGE, (1, 4, 5, 2)], {0: ('i', -1)}),
    ('SLICE', 'SLICE', lambda x: x[:, 1:3, :4, 1:], [IMAGE], None, [ints(0, 1, 0, 1), ints(1, 2, 4, -1)]),
    ('STRIDED_SLICE', 'STRIDED_SLICE', lambda x: x[:, 1:4:2, :, 1], [IMAGE],
     {0: ('i', 5), 1: ('i', 5), 4: ('i', 8)}, [ints(0, 1, 0, 1), ints(0, 4, 0, 2), ints(1, 2, 1, 1)]),
    ('STRIDED_SLICE.backwards', 'STRIDED_SLICE', lambda x: x[:, ::-1, 4:1:-2], [IMAGE], {0: ('i', 11), 1: ('i', 11)},
     [ints(0, 0, 4, 0), ints(0, 0, 1, 0), ints(1, -1, -2, 1)]),
    ('STRIDED_SLICE.ellipsis', 'STRIDED_SLICE', lambda x: x[..., None, 1:2], [IMAGE], {2: ('i', 1), 3: ('i', 2)},
     [ints(0, 0, 1), ints(0, 0, 2), ints(1, 1, 1)]),
    ('MIRROR_PAD', 'MIRROR_PAD', lambda x: np.pad(x, PADS, mode='reflect'), [IMAGE], None, [PADS]),
    ('MIRROR_PAD.symmetric', 'MIRROR_PAD', mirrored, [IMAGE], {0: ('b', 1)}, [PADS]),
    ('SPACE_TO_DEPTH', 'SPACE_TO_DEPTH', space_to_depth, [(1, 4, 6, 3)], {0: ('i', 2)}),
    ('DEPTH_TO_SPACE', 'DEPTH_TO_SPACE', depth_to_space, [(1, 3, 2, 8)], {0: ('i', 2)}),
    ('SPLIT', 'SPLIT', lambda x: np.split(x, 3, 3), [IMAGE], {0: ('i', 3)}, [np.int32(-1)], [1, 0]),
    ('SPLIT_V', 'SPLIT_V', lambda x: np.split(x, [1, 3], 2), [IMAGE], {0: ('i', 3)}, [ints(1, 2, 2), np.int32(2)]),
    ('SPLIT_V.rest', 'SPLIT_V', lambda x: np.split(x, [2], 2), [IMAGE], {0: ('i', 2)}, [ints(2, -1), np.int32(2)]),
    ('PACK', 'PACK', lambda a, b: np.stack([a, b], 1), [(4, 5, 3), (4, 5, 3)], {0: ('i', 2), 1: ('i', 1)}),
    ('UNPACK', 'UNPACK', lambda x: list(x.swapaxes(0, 1)), [IMAGE], {0: ('i', 4), 1: ('i', 1)}),
    ('TILE', 'TILE', lambda x: np.tile(x, (1, 2, 1, 3)), [IMAGE], None, [ints(1, 2, 1, 3)]),
    ('REVERSE_V2', 'REVERSE_V2', lambda x: x[..., ::-1], [IMAGE], None, [ints(3)]),
    ('BROADCAST_TO', 'BROADCAST_TO', lambda x: np.broadcast_to(x, (2, 4, 3)), [(4, 1)], None, [ints(2, 4, 3)]),
    ('GATHER', 'GATHER', lambda x: np.take(x, [4, 0], 2), [IMAGE], {0: ('i', 2)}, [ints(4, 0)]),
    ('GATHER.one', 'GATHER', lambda x: np.take(x, 1, 1), [IMAGE], {0: ('i', 1)}, [np.int32(1)]),
    ('GATHER.batches', 'GATHER', lambda x: np.stack([x[0, [2, 0]], x[1, [1, 1]]]), [(2, 3, 4)],
     {0: ('i', 1), 1: ('i', 1)}, [np.array([[2, 0], [1, 1]], 'int32')]),
    ('GATHER_ND', 'GATHER_ND', lambda x: x[[0, 2], [1, 3]], [(3, 4, 2)], None, [np.array([[0, 1], [2, 3]], 'int32')]),
]
for order in ((0, 3, 1, 2), (0, 2, 3, 1), (0, 1, 3, 2), (3, 2, 1, 0)):
    MOVES.append((f'TRANSPOSE.{order}', 'TRANSPOSE', lambda x, order=order: x.transpose(order), [IMAGE], None,
                  [ints(*order)]))
for name, code, formula, operands, *rest in MOVES:
    operator(name, code, formula, operands, *rest)
    operator(name + '.int8', code, formula, [whole(*o, low=-128, high=128, dtype='int8') for o in operands], *rest,
             scale=0.05)
operator('PAD', 'PAD', lambda x: np.pad(x, PADS), [IMAGE], constants=[PADS])
operator('PADV2', 'PADV2', lambda x: np.pad(x, PADS, constant_values=1.5), [IMAGE],
         constants=[PADS, np.float32(1.5)])
operator('SPACE_TO_BATCH_ND', 'SPACE_TO_BATCH_ND', space_to_batch, [IMAGE],
         constants=[ints(2, 2), np.array([[0, 0], [1, 0]], 'int32')])
operator('BATCH_TO_SPACE_ND', 'BATCH_TO_SPACE_ND', batch_to_space, [(4, 3, 2, 3)],
         constants=[ints(2, 2), np.array([[0, 1], [1, 0]], 'int32')])
operator('FILL', 'FILL', lambda v: np.full((2, 3), v), [np.array(1.5, 'float32')], constants=[ints(2, 3)], order=[1, 0])

# ---- positions and conditions ----

one_hot = np.eye(5, dtype='float32')
positions = whole(2, 3, low=0, high=5)
operator('ONE_HOT', 'ONE_HOT', lambda x: one_hot[x], [positions], {0: ('i', -1)},
         [np.int32(5), np.float32(1), np.float32(0)])
operator('ONE_HOT.axis', 'ONE_HOT', lambda x: (3 * one_hot[x] - 1).transpose(0, 2, 1), [positions], {0: ('i', 1)},
         [np.int32(5), np.float32(2), np.float32(-1)])
operator('TOPK_V2', 'TOPK_V2',
         lambda x: [-np.sort(-x, -1)[..., :3], np.argsort(-x, -1, kind='stable')[..., :3].astype('int32')], [(2, 7)],
         constants=[np.int32(3)])
operator('ARG_MAX', 'ARG_MAX', lambda x: x.argmax(3), [IMAGE], {0: ('b', 4)}, [np.int32(-1)])
operator('ARG_MAX.rows', 'ARG_MAX', lambda x: x.argmax(1).astype('int32'), [IMAGE], {0: ('b', 2)}, [np.int32(1)])
operator('ARG_MIN', 'ARG_MIN', lambda x: x.argmin(1).astype('int32'), [(3, 5)], {0: ('b', 2)}, [np.int32(1)])
operator('SELECT_V2', 'SELECT_V2', np.where, [whole(*IMAGE, low=0, high=2, dtype='bool'), IMAGE, (3,)])
operator('SELECT.rows', 'SELECT', lambda c, a, b: np.where(c[:, None], a, b), [np.array([True, False]), (2, 3), (2, 3)])
operator('CAST.int32', 'CAST', lambda x: x.astype('int32'), [IMAGE], {0: ('b', 0), 1: ('b', 2)})
operator('CAST.float32', 'CAST', lambda x: x.astype('float32'), [whole(2, 3)], {0: ('b', 2), 1: ('b', 0)})
operator('CAST.bool', 'CAST', lambda x: x.astype('float32'), [whole(2, 3, low=0, high=2, dtype='bool')],
         {0: ('b', 6), 1: ('b', 0)})


@case('GATHER.rows')
def rows_of_a_table(m):
    table, at = real(6, 4), np.array([[1, 5, 0]], 'int32')
    t = m.constant(table)
    return [m.add('GATHER', [t, m.input(at)], (1, 3, 4))], [table[at]]


@case('EMBEDDING_LOOKUP.int8')
def rows_of_a_hybrid_table(m):
    table, at = whole(6, 4, low=-127, high=128, dtype='int8'), np.array([1, 5, 0], 'int32')
    t = m.constant(table, scale=0.02)
    return [m.add('EMBEDDING_LOOKUP', [m.input(at), t], (3, 4))], [(table * 0.02).astype('float32')[at]]


# ---- convolutions, pools, products ----


def same(size, kernel, stride, dilation=1):
    results = -(-size // stride)
    total = max(0, (results - 1) * stride + (kernel - 1) * dilation + 1 - size)
    return total // 2, total - total // 2


def convolve(x, w, b, stride, padding, dilation=1):
    kh, kw = w.shape[1:3]
    if padding == 0:
        x = np.pad(x, [(0, 0), same(x.shape[1], kh, stride, dilation), same(x.shape[2], kw, stride, dilation), (0, 0)])
    rows = range(0, x.shape[1] - (kh - 1) * dilation, stride)
    columns = range(0, x.shape[2] - (kw - 1) * dilation, stride)
    return np.stack([np.stack([np.einsum('nhwc,ohwc->no', x[:, i:i + (kh - 1) * dilation + 1:dilation,
                                                            j:j + (kw - 1) * dilation + 1:dilation], w)
                               for j in columns], 1) for i in rows], 1) + b


def activated(x, activation):
    return x if activation == 0 else np.clip(x, -1 if activation == 2 else 0, [0, np.inf, 1, 6][activation])


def convolution(name, stride=1, padding=0, activation=0, dilation=1, weights='float32'):
    @case(name)
    def make(m):
        x, w, b = real(1, 7, 6, 3), real(4, 3, 2, 3), real(4)
        if weights == 'int8':
            scale = np.array([0.011, 0.012, 0.013, 0.014], 'float32')
            q = np.clip(np.round(w / scale[:, None, None, None]), -127, 127).astype('int8')
            t, w = m.constant(q, scale=scale), q * scale[:, None, None, None]
        elif weights == 'dequantized':
            q = np.clip(np.round(w / 0.02), -127, 127).astype('int8')
            t, w = m.add('DEQUANTIZE', [m.constant(q, scale=0.02, zero_point=3)], w.shape), (q - 3.0) * 0.02
        elif weights == 'float16':
            half = w.astype('float16')
            t, w = m.add('DEQUANTIZE', [m.constant(half)], w.shape), half
        else:
            t = m.constant(w)
        y = activated(convolve(x, w.astype('float64'), b, stride, padding, dilation), activation)
        return [m.add('CONV_2D', [m.input(x), t, m.constant(b)], y.shape, options={
            0: ('b', padding), 1: ('i', stride), 2: ('i', stride), 3: ('b', activation), 4: ('i', dilation),
            5: ('i', dilation)})], [y.astype('float32')]


for stride in (1, 2):
    for padding in (0, 1):
        convolution(f'CONV_2D.{stride}.{padding}', stride, padding)
for activation in (1, 2, 3):
    convolution(f'CONV_2D.activation{activation}', activation=activation)
convolution('CONV_2D.dilated', dilation=2)
for kind in ('int8', 'dequantized', 'float16'):
    convolution('CONV_2D.' + kind, weights=kind, activation=1)


def depthwise(name, multiplier, stride, padding):
    @case(name)
    def make(m):
        x, w, b = real(1, 7, 6, 3), real(1, 3, 2, 3 * multiplier), real(3 * multiplier)
        parts = [slice(c * multiplier, (c + 1) * multiplier) for c in range(3)]
        y = np.concatenate([convolve(x[..., c:c + 1], w[0, :, :, p].transpose(2, 0, 1)[..., None].astype('float64'),
                                     b[p], stride, padding) for c, p in enumerate(parts)], -1)
        return [m.add('DEPTHWISE_CONV_2D', [m.input(x), m.constant(w), m.constant(b)], y.shape, options={
            0: ('b', padding), 1: ('i', stride), 2: ('i', stride), 3: ('i', multiplier)})], [y.astype('float32')]


depthwise('DEPTHWISE_CONV_2D', 1, 1, 0)
depthwise('DEPTHWISE_CONV_2D.multiplier', 2, 2, 0)
depthwise('DEPTHWISE_CONV_2D.valid', 2, 1, 1)


def transposed_convolution(name, stride, padding, kernel, activation=0):
    @case(name)
    def make(m):
        x, w, b = real(1, 4, 5, 3), real(2, kernel, kernel, 3), real(2)
        full = np.zeros((1, 3 * stride + kernel, 4 * stride + kernel, 2))
        for i in range(4):
            for j in range(5):
                full[:, i * stride:i * stride + kernel, j * stride:j * stride + kernel] += np.einsum(
                    'nc,ohwc->nhwo', x[:, i, j].astype('float64'), w)
        sizes = [4 * stride, 5 * stride] if padding == 0 else full.shape[1:3]
        for axis, size in ((1, sizes[0]), (2, sizes[1])):
            surplus = full.shape[axis] - size
            if surplus < 0:
                full = np.pad(full, [(0, -surplus if a == axis else 0) for a in range(4)])
            else:
                full = np.take(full, range(surplus // 2, surplus // 2 + size), axis)
        y = activated(full + b, activation).astype('float32')
        return [m.add('TRANSPOSE_CONV', [m.constant(ints(*y.shape)), m.constant(w), m.input(x), m.constant(b)], y.shape,
                      options={0: ('b', padding), 1: ('i', stride), 2: ('i', stride), 3: ('b', activation)})], [y]


for stride in (1, 2):
    for padding in (0, 1):
        for kernel in (2, 3):
            transposed_convolution(f'TRANSPOSE_CONV.{stride}.{padding}.{kernel}', stride, padding, kernel)
transposed_convolution('TRANSPOSE_CONV.relu', 2, 0, 3, 1)


def pool(name, operator, kernel, stride, padding, relu=False):
    @case(name)
    def make(m):
        x = real(1, 7, 6, 3)
        t, z = m.input(x), x.astype('float64')
        if relu:
            t, z = m.add('RELU', [t], x.shape), np.maximum(z, 0)
        if padding == 0:
            z = np.pad(z, [(0, 0), same(7, kernel, stride), same(6, kernel, stride), (0, 0)], constant_values=np.nan)
        windows = [[z[:, i:i + kernel, j:j + kernel] for j in range(0, z.shape[2] - kernel + 1, stride)]
                   for i in range(0, z.shape[1] - kernel + 1, stride)]
        take = {'MAX_POOL_2D': np.nanmax, 'AVERAGE_POOL_2D': np.nanmean,
                'L2_POOL_2D': lambda w, axis: np.sqrt(np.nanmean(w * w, axis))}[operator]
        y = np.stack([np.stack([take(w, axis=(1, 2)) for w in row], 1) for row in windows], 1).astype('float32')
        return [m.add(operator, [t], y.shape, options={0: ('b', padding), 1: ('i', stride), 2: ('i', stride),
                                                       3: ('i', kernel), 4: ('i', kernel)})], [y]


for name in ('MAX_POOL_2D', 'AVERAGE_POOL_2D'):
    for kernel in (2, 3):
        for stride in (1, 2, 3):
            for padding in (0, 1):
                pool(f'{name}.{kernel}.{stride}.{padding}', name, kernel, stride, padding)
@case('AVERAGE_POOL_2D.int8')
def average_of_integers(m):
    """Of those inside the image. No mean lies between two integers, where evaluator and LiteRT round otherwise."""
    x = (whole(1, 7, 6, 3, low=-10, high=11) * 12).astype('int8')
    rows, columns = same(7, 2, 2), same(6, 3, 2)
    z = np.pad(x.astype('float64'), [(0, 0), rows, columns, (0, 0)], constant_values=np.nan)
    y = np.stack([np.stack([np.nanmean(z[:, i:i + 2, j:j + 3], (1, 2)) for j in range(0, 6, 2)], 1)
                  for i in range(0, 8, 2)], 1)
    t = m.input(x, scale=0.05, zero_point=-3)
    y = y.astype('int8')
    return [m.add('AVERAGE_POOL_2D', [t], y.shape, 'int8', {1: ('i', 2), 2: ('i', 2), 3: ('i', 3), 4: ('i', 2)},
                  scale=0.05, zero_point=-3)], [y]


pool('MAX_POOL_2D.relu', 'MAX_POOL_2D', 2, 2, 0, relu=True)
pool('L2_POOL_2D', 'L2_POOL_2D', 2, 2, 1)


def fully_connected(name, keep, activation, bias, weights='float32'):
    @case(name)
    def make(m):
        x, w, b = real(2, 3, 4), real(5, 4), real(5)
        if weights == 'int8':
            q = np.clip(np.round(w / 0.02), -127, 127).astype('int8')
            t, w = m.constant(q, scale=0.02), q * 0.02
        else:
            t = m.constant(w)
        y = activated(x.astype('float64') @ w.T + (b if bias else 0), activation).astype('float32')
        y = y if keep else y.reshape(6, 5)
        return [m.add('FULLY_CONNECTED', [m.input(x), t, m.constant(b) if bias else -1], y.shape,
                      options={0: ('b', activation), 2: ('?', keep)})], [y]


fully_connected('FULLY_CONNECTED', False, 0, True)
fully_connected('FULLY_CONNECTED.relu', True, 1, True)
fully_connected('FULLY_CONNECTED.no_bias', True, 0, False)
fully_connected('FULLY_CONNECTED.int8', False, 1, True, 'int8')

operator('BATCH_MATMUL', 'BATCH_MATMUL', np.matmul, [(2, 3, 4), (2, 4, 5)])
operator('BATCH_MATMUL.images', 'BATCH_MATMUL', np.matmul, [(1, 2, 3, 4), (1, 2, 4, 5)])
operator('BATCH_MATMUL.adjoint', 'BATCH_MATMUL', lambda a, b: a.swapaxes(1, 2) @ b.swapaxes(1, 2), [(2, 4, 3), (2, 5, 4)],
         {0: ('?', True), 1: ('?', True)})
operator('BATCH_MATMUL.repeated', 'BATCH_MATMUL', np.matmul, [(2, 1, 3, 4), (1, 5, 4, 2)])

operator('PRELU', 'PRELU', lambda x: np.where(x > 0, x, x * np.array([.1, .2, .3], 'float32')), [IMAGE],
         constants=[np.array([[[.1, .2, .3]]], 'float32')])
slopes = real(4, 5, 3)
operator('PRELU.pixels', 'PRELU', lambda x: np.where(x > 0, x, x * slopes), [IMAGE], constants=[slopes])

by_channel = [.3, -.2, .1, .5]
operator('PRELU.one', 'PRELU', lambda x: np.where(x > 0, x, x * np.float32(.3)), [(3, 4)],
         constants=[np.array([.3], 'float32')])
operator('PRELU.rows', 'PRELU', lambda x: np.where(x > 0, x, x * np.array(by_channel, 'float32')), [(3, 4)],
         constants=[np.array(by_channel, 'float32')])
operator('PRELU.lines', 'PRELU', lambda x: np.where(x > 0, x, x * np.array(by_channel, 'float32')), [(2, 3, 4)],
         constants=[np.array([by_channel], 'float32')])
operator('PRELU.computed', 'PRELU', lambda x, s: np.where(x > 0, x, x * s), [(3, 4), (3, 4)])
operator('SELECT', 'SELECT', np.where, [whole(*IMAGE, low=0, high=2, dtype='bool'), IMAGE, IMAGE])

# ---- resizing ----


def places(out, size, aligned, half):
    if aligned and out > 1:
        return np.arange(out) * ((size - 1) / (out - 1))
    return (np.arange(out) + (0.5 if half else 0)) * (size / out)


def nearest(x, sizes, aligned, half):
    for axis in (1, 2):
        at = places(sizes[axis - 1], x.shape[axis], aligned, half)
        x = np.take(x, np.minimum((np.floor(at + 0.5) if aligned else np.floor(at)).astype(int), x.shape[axis] - 1), axis)
    return x


def bilinear(x, sizes, aligned, half):
    for axis in (1, 2):
        at = np.maximum(places(sizes[axis - 1], x.shape[axis], aligned, half) - (0.5 if half else 0), 0)
        low = np.minimum(np.floor(at).astype(int), x.shape[axis] - 1)
        part = np.expand_dims(at - np.floor(at), tuple(a for a in range(4) if a != axis))
        high = np.minimum(low + 1, x.shape[axis] - 1)
        x = np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part
    return x


for aligned, half in ((False, False), (True, False), (False, True)):
    for sizes in ((8, 10), (3, 7)):
        operator(f'RESIZE_BILINEAR.{aligned}.{half}.{sizes}', 'RESIZE_BILINEAR',
                 at_float(lambda x, a=(sizes, aligned, half): bilinear(x, *a)), [IMAGE],
                 {2: ('?', aligned), 3: ('?', half)}, [ints(*sizes)])
        operator(f'RESIZE_NEAREST_NEIGHBOR.{aligned}.{half}.{sizes}', 'RESIZE_NEAREST_NEIGHBOR',
                 lambda x, a=(sizes, aligned, half): nearest(x, *a), [IMAGE], {0: ('?', aligned), 1: ('?', half)},
                 [ints(*sizes)])

# ---- layers of several operators ----


@case('shape arithmetic')
def flatten(m):
    x = real(3, 4, 2)
    t = m.input(x)
    shape = m.add('SHAPE', [t], (3,), 'int32')
    first = m.add('STRIDED_SLICE', [shape, m.constant(ints(0)), m.constant(ints(1)), m.constant(ints(1))], (), 'int32',
                  {4: ('i', 1)})
    sizes = m.add('PACK', [first, m.constant(np.int32(8))], (2,), 'int32', {0: ('i', 2)})
    return [m.add('RESHAPE', [t, sizes], (3, 8))], [x.reshape(3, 8)]


def lstm(name, time_major, weights='float32'):
    @case(name)
    def make(m):
        batch, steps, features, units = 2, 5, 3, 4
        x = real(*((steps, batch) if time_major else (batch, steps)), features)
        gates = [[real(units, n) for _ in range(4)] for n in (features, units)]
        biases = [real(units) for _ in range(4)]
        tensors = [[m.constant(w) for w in kind] for kind in gates]
        if weights == 'int8':
            quantized = [[np.round(w / 0.02).astype('int8') for w in kind] for kind in gates]
            tensors = [[m.constant(q, scale=0.02) for q in kind] for kind in quantized]
            gates = [[q * 0.02 for q in kind] for kind in quantized]
        h, c, results = np.zeros((batch, units)), np.zeros((batch, units)), []
        for t in range(steps):
            now = x[t] if time_major else x[:, t]
            i, f, g, o = (now @ gates[0][k].T + h @ gates[1][k].T + biases[k] for k in range(4))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            results.append(h)
        y = np.stack(results, 0 if time_major else 1).astype('float32')
        states = [m.tensor((batch, units), variable=True) for _ in range(2)]
        operands = [m.input(x), *tensors[0], *tensors[1], -1, -1, -1, *(m.constant(b) for b in biases), -1, -1, *states,
                    -1, -1, -1, -1]
        return [m.add('UNIDIRECTIONAL_SEQUENCE_LSTM', operands, y.shape,
                      options={0: ('b', 4), 3: ('?', time_major)})], [y]


lstm('UNIDIRECTIONAL_SEQUENCE_LSTM', False)
lstm('UNIDIRECTIONAL_SEQUENCE_LSTM.time_major', True)
lstm('UNIDIRECTIONAL_SEQUENCE_LSTM.int8', False, 'int8')


@case('UNIDIRECTIONAL_SEQUENCE_RNN')
def rnn(m):
    x, w, r, b, h, results = real(2, 5, 3), real(4, 3), real(4, 4), real(4), np.zeros((2, 4)), []
    for t in range(5):
        h = np.tanh(x[:, t] @ w.T + h @ r.T + b)
        results.append(h)
    y = np.stack(results, 1).astype('float32')
    operands = [m.input(x), m.constant(w), m.constant(r), m.constant(b), m.tensor((2, 4), variable=True)]
    return [m.add('UNIDIRECTIONAL_SEQUENCE_RNN', operands, y.shape, options={1: ('b', 4)})], [y]


@case('attention')
def attention(m):
    """As Keras writes it: heads as images, a mask that is added."""
    length, width, heads = 6, 8, 2
    x = real(1, length, width)
    t, each = m.input(x), width // heads

    def dense(t, v):
        w, b = real(width, width), real(width)
        return m.add('FULLY_CONNECTED', [t, m.constant(w), m.constant(b)], v.shape,
                     options={2: ('?', True)}), v @ w.T.astype('float64') + b

    def split_heads(t, v):
        t = m.add('RESHAPE', [t, m.constant(ints(1, length, heads, each))], (1, length, heads, each))
        t = m.add('TRANSPOSE', [t, m.constant(ints(0, 2, 1, 3))], (1, heads, length, each))
        return t, v.reshape(1, length, heads, each).transpose(0, 2, 1, 3)

    (q, qv), (k, kv), (v, vv) = (split_heads(*dense(t, x)) for _ in range(3))
    mask = np.triu(np.full((1, 1, length, length), -1e9, 'float32'), 1)
    s = m.add('BATCH_MATMUL', [q, k], (1, heads, length, length), options={1: ('?', True)})
    s = m.add('ADD', [s, m.constant(mask)], (1, heads, length, length))
    s = m.add('SOFTMAX', [s], (1, heads, length, length), options={0: ('f', 1.0)})
    y = m.add('BATCH_MATMUL', [s, v], (1, heads, length, each))
    y = m.add('TRANSPOSE', [y, m.constant(ints(0, 2, 1, 3))], (1, length, heads, each))
    y = m.add('RESHAPE', [y, m.constant(ints(1, length, width))], (1, length, width))
    yv = (softmax(qv @ kv.swapaxes(2, 3) + mask) @ vv).transpose(0, 2, 1, 3).reshape(1, length, width)
    return [y], [yv.astype('float32')]


def layer_norm(name, folded, shape=(1, 6, 8)):
    @case(name)
    def make(m):
        """As TensorFlow's batch norm, or as it is defined."""
        x, weight, bias = real(*shape), real(shape[-1]), real(shape[-1])
        t, row = m.input(x), (*shape[:-1], 1)
        axis = m.constant(ints(len(shape) - 1))
        mean = m.add('MEAN', [t, axis], row, options={0: ('?', True)})
        variance = m.add('MEAN', [m.add('SQUARED_DIFFERENCE', [t, mean], shape), axis], row, options={0: ('?', True)})
        root = m.add('RSQRT', [m.add('ADD', [variance, m.constant(np.float32(1e-3))], row)], row)
        if folded:
            scale = m.add('MUL', [root, m.constant(weight)], shape)
            shift = m.add('SUB', [m.constant(bias), m.add('MUL', [mean, scale], shape)], shape)
            y = m.add('ADD', [m.add('MUL', [t, scale], shape), shift], shape)
        else:
            y = m.add('MUL', [m.add('SUB', [t, mean], shape), root], shape)
            y = m.add('ADD', [m.add('MUL', [y, m.constant(weight)], shape), m.constant(bias)], shape)
        x = x.astype('float64')
        centred = x - x.mean(-1, keepdims=True)
        value = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3) * weight + bias
        return [y], [value.astype('float32')]


layer_norm('layer norm.folded', True)
layer_norm('layer norm', False)
layer_norm('layer norm.image', True, (1, 3, 4, 5))


@case('boundary')
def boundary(m):
    """An input that is an output, an output twice, and a constant one."""
    x = real(1, 3, 4, 2)
    t = m.input(x)
    y = m.add('ABS', [t], x.shape)
    return [y, t, y, m.add('SHAPE', [t], (4,), 'int32')], [abs(x), x, abs(x), ints(1, 3, 4, 2)]


@case('equal sizes')
def equal_sizes(m):
    """Nothing but the model says what is a row, a column and a channel."""
    a, b = real(1, 3, 3, 3), real(1, 3, 3, 3)
    y = m.add('SLICE', [m.input(a), m.constant(ints(0, 1, 0, 0)), m.constant(ints(1, 2, 3, 3))], (1, 2, 3, 3))
    z = m.add('SLICE', [m.input(b), m.constant(ints(0, 0, 0, 2)), m.constant(ints(1, 3, 3, 1))], (1, 3, 3, 1))
    return [y, z], [a[:, 1:], b[..., 2:]]


# ---- what LiteRT derives before it runs ----


def sparse(m, values, block=(1, 1)):
    """A matrix of which the blocks that are not zero are stored, row by row."""
    (rows, columns), (high, wide) = values.shape, block
    blocks = values.reshape(rows // high, high, columns // wide, wide).swapaxes(1, 2)
    kept = blocks.any((2, 3))
    segments = np.concatenate([[0], np.cumsum(kept.sum(1))])
    dense = lambda size: {1: ('i', size)}
    levels = [dense(rows // high), {0: ('b', 1), 2: ('B', 1), 3: ('ref', {0: ('ref', Vector('i', segments))}),
                                    4: ('B', 3), 5: ('ref', {0: ('ref', Vector('B', np.nonzero(kept)[1]))})}]
    parameters = {0: ('ref', Vector('i', [0, 1])), 2: ('ref', levels)}
    if block != (1, 1):
        levels += [dense(high), dense(wide)]
        parameters = {0: ('ref', Vector('i', [0, 1, 2, 3])), 1: ('ref', Vector('i', [0, 1])), 2: ('ref', levels)}
    t = m.constant(values)
    m.buffers[-1] = blocks[kept].astype(values.dtype).tobytes()
    m.tensors[t][6] = ('ref', parameters)
    return t


def sparse_weights(name, block):
    @case(name)
    def make(m):
        x, w = real(3, 8), real(6, 8) * np.kron(whole(6 // block[0], 8 // block[1], low=0, high=2), np.ones(block))
        w = w.astype('float32')
        dense = m.add('DENSIFY', [sparse(m, w, block)], w.shape)
        return [m.add('FULLY_CONNECTED', [m.input(x), dense, -1], (3, 6))], [x @ w.T]


sparse_weights('sparse', (1, 1))
sparse_weights('sparse.blocks', (2, 4))


def transposed_convolution_with_bias(name, padding, stride, kernel):
    @case(name)
    def make(m):
        x, w, b = real(1, 3, 4, 2), real(3, kernel, kernel, 2), real(3)
        full = np.zeros((1, 2 * stride + kernel, 3 * stride + kernel, 3), 'float64')
        for y in range(3):
            for z in range(4):
                full[0, y * stride:y * stride + kernel, z * stride:z * stride + kernel] += np.einsum('c,okwc->kwo', x[0, y, z], w)
        cut = kernel - stride if padding == 1 else 0
        value = full[:, cut // 2:full.shape[1] - (cut - cut // 2), cut // 2:full.shape[2] - (cut - cut // 2)] + b
        t = m.add('Convolution2DTransposeBias', [m.input(x), m.constant(w), m.constant(b)], value.shape,
                  options=struct.pack('<iii', padding, stride, stride))
        return [t], [value.astype('float32')]


transposed_convolution_with_bias('Convolution2DTransposeBias', 1, 2, 2)
transposed_convolution_with_bias('Convolution2DTransposeBias.same', 1, 2, 4)
transposed_convolution_with_bias('Convolution2DTransposeBias.valid', 2, 2, 3)


@case('DYNAMIC_UPDATE_SLICE')
def update_slice(m):
    """The part is moved to where it fits."""
    x, part = real(4, 5), real(2, 3)
    value = x.copy()
    value[1:3, 2:5] = part
    return [m.add('DYNAMIC_UPDATE_SLICE', [m.input(x), m.input(part), m.constant(ints(1, 4))], x.shape)], [value]


@case('BROADCAST_ARGS')
def broadcast_args(m):
    x = real(3, 1)
    shape = m.add('BROADCAST_ARGS', [m.constant(ints(1, 4)), m.constant(ints(2, 3, 1))], (3,), 'int32')
    return [m.add('BROADCAST_TO', [m.input(x), shape], (1, 1, 1))], [np.broadcast_to(x, (2, 3, 4))]


@case('shapes that are ones')
def shapes_that_are_ones(m):
    """As converters state what follows from an open batch."""
    x, w = real(1, 4, 6, 2), real(1, 3, 3, 2)
    t = m.add('SPACE_TO_BATCH_ND', [m.input(x), m.constant(ints(2, 2)), m.constant(np.array([[2, 2], [2, 2]], 'int32'))],
              (1, 1, 1, 2))
    t = m.add('DEPTHWISE_CONV_2D', [t, m.constant(w)], (1, 1, 1, 2),
              options={0: ('b', 1), 1: ('i', 1), 2: ('i', 1), 3: ('i', 1)})
    t = m.add('BATCH_TO_SPACE_ND', [t, m.constant(ints(2, 2)), m.constant(np.zeros((2, 2), 'int32'))], (1, 1, 1, 2))
    size = m.add('STRIDED_SLICE', [m.add('SHAPE', [t], (4,), 'int32'), *(m.constant(ints(v)) for v in (0, 1, 1))], (),
                 'int32', options={4: ('i', 1)})
    shape = m.add('PACK', [size, m.constant(np.int32(-1)), m.constant(np.int32(2))], (3,), 'int32', options={0: ('i', 3)})
    y = m.add('RESHAPE', [t, shape], (1, 1, 2))
    padded, value = np.pad(x, [(0, 0), (2, 2), (2, 2), (0, 0)]), 0
    for i in range(3):
        for j in range(3):
            value = value + padded[:, 2 * i:2 * i + 4, 2 * j:2 * j + 6] * w[0, i, j]
    return [y], [value.reshape(1, 24, 2)]


@case('uint8')
def uint8(m):
    """Layers of uint8 with a zero point in their weights; the program has int8, less 128."""
    x, w, b = whole(4, 7, low=0, high=256, dtype='uint8'), whole(5, 7, low=30, high=240, dtype='uint8'), whole(5, low=-900, high=900)
    t = m.input(x, scale=0.5, zero_point=120)
    m.inputs[-1] = (t, (x.astype('int32') - 128).astype('int8'))
    y = m.add('FULLY_CONNECTED', [t, m.constant(w, scale=2**-6, zero_point=140), m.constant(b, scale=2**-7)], (4, 5), 'uint8',
              scale=2.0, zero_point=131)
    sums = (x.astype('int64') - 120) @ (w.astype('int64') - 140).T + b
    value = np.clip(np.floor(np.abs(sums) / 256 + 0.5) * np.sign(sums) + 131, 0, 255) - 128
    return [y], [value.astype('int8')]


# ---- the file ----


def clipped_lstm(name, cell_clip, proj_clip, outputs):
    """With a projection of 5 units to 3 outputs, or without one."""
    def make(m):
        x = real(2, 6, 4)
        w, r, b, p = (real(*shape, low=-1.5, high=1.5)
                      for shape in ((4, 5, 4), (4, 5, outputs or 5), (4, 5), (outputs or 5, 5)))
        operands = [m.input(x), *[m.constant(v) for v in w], *[m.constant(v) for v in r], -1, -1, -1,
                    *[m.constant(v) for v in b], m.constant(p) if outputs else -1, -1]
        operands += [m.tensor((2, n), variable=True) for n in (outputs or 5, 5)] + [-1] * 4
        h, c, y = np.zeros((2, outputs or 5)), np.zeros((2, 5)), []
        for t in range(6):
            i, f, g, o = (x[:, t] @ w[k].T.astype('float64') + h @ r[k].T + b[k] for k in range(4))
            c = np.clip(sigmoid(f) * c + sigmoid(i) * np.tanh(g), -cell_clip, cell_clip)
            h = sigmoid(o) * np.tanh(c)
            h = np.clip(h @ p.T, -proj_clip, proj_clip) if outputs else h
            y.append(h)
        y = np.stack(y, 1).astype('float32')
        options = {0: ('b', 4), 1: ('f', cell_clip), 2: ('f', proj_clip if outputs else 0)}
        return [m.add('UNIDIRECTIONAL_SEQUENCE_LSTM', operands, y.shape, options=options)], [y]
    cases.append((name, make))


clipped_lstm('UNIDIRECTIONAL_SEQUENCE_LSTM.clipped', 0.5, 0, 0)
clipped_lstm('UNIDIRECTIONAL_SEQUENCE_LSTM.projected', 0.7, 0.6, 3)


# ---- uint8, throughout ----

def requantized(sums, scale):
    """Multiplied by the scale as LiteRT does it: with a multiplier of 31 bits, rounded, then shifted, rounded again."""
    mantissa, shift = math.frexp(scale)
    multiplier = round(mantissa * 2**31)
    sums = sums.astype(object) * (1 << max(shift, 0)) * multiplier
    high = np.where(sums >= 0, (sums + 2**30) // 2**31, -((-sums + 2**30 - 1) // 2**31))
    right = max(-shift, 0)
    half = 1 << right >> 1
    return np.where(high >= 0, (high + half) >> right, -((-high + half) >> right)).astype('int64')


def windows(image, zero, size, stride, same):
    """[rows, columns, taps, channels] of an image without its batch, with its zero point around it."""
    out = [-(-n // stride) if same else (n - size) // stride + 1 for n in image.shape[:2]]
    around = [max((o - 1) * stride + size - n, 0) for o, n in zip(out, image.shape)]
    image = np.pad(image, [(a // 2, a - a // 2) for a in around] + [(0, 0)], constant_values=zero)
    return np.stack([image[y:y + (out[0] - 1) * stride + 1:stride, x:x + (out[1] - 1) * stride + 1:stride]
                     for y in range(size) for x in range(size)], 2)


X_SCALE, X_ZERO, W_SCALE, Y_SCALE, Y_ZERO = 0.0203, 121, 0.0117, 1.31, 98


def rescaled(sums, bias):
    product = np.float32(np.float32(X_SCALE) * np.float32(W_SCALE))
    sums = requantized(sums + bias, float(product) / float(np.float32(Y_SCALE)))
    return np.clip(sums + Y_ZERO, 0, 255).astype('uint8')


def uint8_layer(name, kind, weights, zero, sums, shape, options):
    """sums(x, w) of the input and the weights less their zero points, with the result's shape."""
    def make(m):
        x = whole(*shape, low=0, high=256, dtype='uint8')
        w = whole(*weights, low=0, high=256, dtype='uint8')
        w.flat[:2] = 0, 255  # nine bits about any zero point but one
        outputs = weights[3] if kind == 'DEPTHWISE_CONV_2D' else weights[0]
        bias = whole(outputs, low=-3000, high=3000)
        operands = [m.input(x, scale=X_SCALE, zero_point=X_ZERO), m.constant(w, scale=W_SCALE, zero_point=zero),
                    m.constant(bias, scale=X_SCALE * W_SCALE)]
        y = rescaled(sums(x.astype('int64') - X_ZERO, w.astype('int64') - zero), bias)
        return [m.add(kind, operands, y.shape, 'uint8', options, scale=Y_SCALE, zero_point=Y_ZERO)], [y]
    cases.append(('uint8.' + name, make))


def conv_sums(stride, same):
    return lambda x, w: np.einsum('yxtc,otc->yxo', windows(x[0], 0, w.shape[1], stride, same),
                                  w.reshape(w.shape[0], -1, w.shape[3]))[None]


def depthwise_sums(stride, same):
    return lambda x, w: np.einsum('yxtc,tc->yxc', windows(x[0], 0, w.shape[1], stride, same),
                                  w.reshape(-1, w.shape[3]))[None]


for zero in (0, 117, 128, 255):
    uint8_layer('CONV_2D.%d' % zero, 'CONV_2D', (7, 3, 3, 5), zero, conv_sums(2, True), (1, 8, 9, 5),
                {0: ('b', 0), 1: ('i', 2), 2: ('i', 2), 3: ('b', 0), 4: ('i', 1), 5: ('i', 1)})
    uint8_layer('DEPTHWISE_CONV_2D.%d' % zero, 'DEPTHWISE_CONV_2D', (1, 3, 3, 8), zero, depthwise_sums(1, False),
                (1, 8, 9, 8), {0: ('b', 1), 1: ('i', 1), 2: ('i', 1), 3: ('i', 1), 4: ('b', 0), 5: ('i', 1), 6: ('i', 1)})
    uint8_layer('FULLY_CONNECTED.%d' % zero, 'FULLY_CONNECTED', (9, 33), zero, lambda x, w: x @ w.T, (1, 33), {})


def transposed_sums(x, w, stride=2, side=3):
    """SAME: of the full result, three for each pixel and one more, what lies within twice the image."""
    full = np.zeros((1, stride * (x.shape[1] - 1) + side, stride * (x.shape[2] - 1) + side, w.shape[0]), 'int64')
    for i, j in np.ndindex(*x.shape[1:3]):
        full[:, stride * i:stride * i + side, stride * j:stride * j + side] += np.einsum('nc,ohwc->nhwo', x[:, i, j], w)
    return full[:, :stride * x.shape[1], :stride * x.shape[2]]


def uint8_transposed(name, zero):
    def make(m):
        x, w = (whole(*shape, low=0, high=256, dtype='uint8') for shape in ((1, 4, 5, 3), (6, 3, 3, 3)))
        w.flat[:2] = 0, 255
        bias = whole(6, low=-3000, high=3000)
        y = rescaled(transposed_sums(x.astype('int64') - X_ZERO, w.astype('int64') - zero), bias)
        operands = [m.constant(ints(*y.shape)), m.constant(w, scale=W_SCALE, zero_point=zero),
                    m.input(x, scale=X_SCALE, zero_point=X_ZERO), m.constant(bias, scale=X_SCALE * W_SCALE)]
        return [m.add('TRANSPOSE_CONV', operands, y.shape, 'uint8', {0: ('b', 0), 1: ('i', 2), 2: ('i', 2)},
                      scale=Y_SCALE, zero_point=Y_ZERO)], [y]
    cases.append(('uint8.TRANSPOSE_CONV.' + name, make))


for zero in (0, 117, 128, 255):
    uint8_transposed(str(zero), zero)


def softmax_with_beta(m):
    """Far from halves, so that the fixed point of LiteRT gives what real numbers do."""
    x = ints(90, 100, 110, 117, 122, 124, 128).astype('uint8')[None]
    real = np.exp(1.7 * 0.11 * (x - 128.0))
    y = np.floor(real / real.sum() * 256 + 0.5).clip(0, 255).astype('uint8')
    return [m.add('SOFTMAX', [m.input(x, scale=0.11, zero_point=3)], y.shape, 'uint8', {0: ('f', 1.7)}, scale=2**-8,
                  zero_point=0)], [y]


cases.append(('uint8.SOFTMAX.beta', softmax_with_beta))


def uint8_pool(name, size, stride, same):
    def make(m):
        x = whole(1, 8, 8, 16, low=0, high=256, dtype='uint8')
        counts = windows(np.ones((8, 8, 1), 'int64'), 0, size, stride, same).sum(2)
        y = ((windows(x[0].astype('int64'), 0, size, stride, same).sum(2) + counts // 2) // counts)[None].astype('uint8')
        options = {0: ('b', 0 if same else 1), 1: ('i', stride), 2: ('i', stride), 3: ('i', size), 4: ('i', size)}
        quantization = {'scale': X_SCALE, 'zero_point': X_ZERO}
        return [m.add('AVERAGE_POOL_2D', [m.input(x, **quantization)], y.shape, 'uint8', options, **quantization)], [y]
    cases.append(('uint8.AVERAGE_POOL_2D.' + name, make))


uint8_pool('valid', 4, 4, False)
uint8_pool('same', 3, 2, True)


EVERY = np.arange(256, dtype='uint8').reshape(1, 256)


def uint8_function(name, kind, scales, zeros, function, options=None):
    """function(value less its zero point, scale, scale of the result) for all values, as float32 scales."""
    def make(m):
        x, (a, b) = EVERY, (np.float32(s) for s in scales)
        y = np.clip(function(x.astype('int64') - zeros[0], a, b) + zeros[1], 0, 255).astype('uint8')
        t = m.input(x, scale=a, zero_point=zeros[0])
        return [m.add(kind, [t], y.shape, 'uint8', options, scale=b, zero_point=zeros[1])], [y]
    cases.append(('uint8.' + name, make))


def changed(x, a, b):
    return requantized(x, float(a) / float(b))


def leaky(x, a, b):
    below = requantized(x, float(np.float32(a * np.float32(0.1)) / b))
    return np.where(x >= 0, requantized(x, float(a / b)), below)


def high(a, b, rounds=True):
    product = a * b + (np.where(a * b >= 0, 2**14, 1 - 2**14) if rounds else 0)
    return np.where(product >= 0, product >> 15, -(-product >> 15)).clip(-2**15, 2**15 - 1)


def hard_swish(x, a, b):
    """In 16 bits, of which all stand for 3."""
    fine = np.float32(np.float32(1 / 128) * a)
    def upper(factor):
        mantissa, shift = math.frexp(float(factor))
        return min((round(mantissa * 2**31) + 2**15) >> 16, 2**15 - 1), shift
    (out, down), (gate, shift) = upper(fine / b), upper(fine / np.float32(3 / 32768))
    def shifted(v, bits):
        half = 1 << bits >> 1
        return np.where(v >= 0, (v + half) >> bits, -((-v + half) >> bits))
    x = x * 128
    opened = (x << max(shift - 1, 0)).clip(-2**15, 2**15 - 1)
    opened = high(opened, gate)
    opened = (opened * 2).clip(-2**15, 2**15 - 1) if shift > 0 else shifted(opened, -shift)
    return shifted(high((opened + 2**15) >> 1, high(x, out), False), -down)


uint8_function('QUANTIZE.half', 'QUANTIZE', (0.05, 0.1), (131, 125), changed)
uint8_function('QUANTIZE.less', 'QUANTIZE', (0.05, 0.16), (131, 125), changed)
uint8_function('LEAKY_RELU', 'LEAKY_RELU', (0.25, 0.05), (136, 118), leaky, {0: ('f', 0.1)})
uint8_function('HARD_SWISH', 'HARD_SWISH', (0.06, 0.05), (136, 28), hard_swish)
uint8_function('HARD_SWISH.narrow', 'HARD_SWISH', (0.01, 0.008), (136, 28), hard_swish)


def joined(m):
    scales, zeros = [np.float32(s) for s in (0.05, 0.025, 0.031)], (125, 125, 137)
    inverse, parts = np.float32(1) / scales[0], []
    for scale, zero in zip(scales, zeros):
        ratio = np.float32(scale * inverse)
        value = np.float32(np.float32(EVERY * ratio) + np.float32(-zero * ratio))
        parts.append(np.clip(np.trunc(value + np.copysign(0.5, value)) + zeros[0], 0, 255).astype('uint8'))
    tensors = [m.input(EVERY, scale=s, zero_point=z) for s, z in zip(scales, zeros)]
    parts[0] = EVERY
    return [m.add('CONCATENATION', tensors, (1, 768), 'uint8', {0: ('i', 1)}, scale=scales[0],
                  zero_point=zeros[0])], [np.concatenate(parts, 1)]


cases.append(('uint8.CONCATENATION', joined))


# ---- int16, with weights in int8: zero points are 0 ----

A_SCALE, B_SCALE = np.float32(0.0002), np.float32(0.00031)


def words(*shape):
    """With the ends of the range."""
    x = whole(*shape, low=-2**15, high=2**15, dtype='int16')
    x.flat[:3] = -2**15, 2**15 - 1, 0
    return x


def saturated(values):
    return np.clip(values, -2**15, 2**15 - 1).astype('int16')


def long_requantized(sums, scale):
    """Of sums of 64 bits: the multiplier has 16 bits, what it makes is rounded once, halves upwards."""
    mantissa, shift = math.frexp(scale)
    multiplier = round(mantissa * 2**31)
    multiplier = (multiplier + 2**15) >> 16 if multiplier < 0x7fff0000 else 0x7fff
    return ((sums.astype(object) * multiplier + (1 << 14 - shift)) >> 15 - shift).astype('int64')


def int16_layer(name, kind, weights, bias, sums, shape, options, leading=None):
    """bias: its type, which says how sums are requantized, or None."""
    def make(m):
        x, w = words(*shape), whole(*weights, low=-127, high=128, dtype='int8')
        axis = 3 if kind == 'DEPTHWISE_CONV_2D' else 0
        scales = np.linspace(0.004, 0.02, weights[axis]).astype('float32')
        out = np.float32(0.0011)
        b = whole(weights[axis], low=-2**24, high=2**24, dtype='int64').astype(bias or 'int64') * (bias is not None)
        total = sums(x.astype('int64'), w.astype('int64')) + b
        change = requantized if bias == 'int32' else long_requantized
        y = np.stack([saturated(change(total[..., i], float(A_SCALE) * float(s) / float(out)))
                      for i, s in enumerate(scales)], -1)
        operands = [m.input(x, scale=A_SCALE), m.constant(w, scale=scales, axis=axis)]
        operands = operands if leading is None else [m.constant(leading(y)), *operands[::-1]]
        operands += [] if bias is None else [m.constant(b, scale=A_SCALE * scales)]
        return [m.add(kind, operands, y.shape, 'int16', options, scale=out)], [y]
    cases.append(('int16.' + name, make))


for bias in ('int64', 'int32', None):
    int16_layer('CONV_2D.%s' % bias, 'CONV_2D', (7, 3, 3, 5), bias, conv_sums(2, True), (1, 8, 9, 5),
                {0: ('b', 0), 1: ('i', 2), 2: ('i', 2), 3: ('b', 0), 4: ('i', 1), 5: ('i', 1)})
    int16_layer('CONV_2D.pixel.%s' % bias, 'CONV_2D', (6, 1, 1, 16), bias, conv_sums(1, False), (1, 4, 4, 16),
                {0: ('b', 1), 1: ('i', 1), 2: ('i', 1), 3: ('b', 0), 4: ('i', 1), 5: ('i', 1)})
    int16_layer('DEPTHWISE_CONV_2D.%s' % bias, 'DEPTHWISE_CONV_2D', (1, 3, 3, 8), bias, depthwise_sums(1, False),
                (1, 8, 9, 8), {0: ('b', 1), 1: ('i', 1), 2: ('i', 1), 3: ('i', 1), 4: ('b', 0), 5: ('i', 1), 6: ('i', 1)})
    int16_layer('TRANSPOSE_CONV.%s' % bias, 'TRANSPOSE_CONV', (6, 3, 3, 3), bias, transposed_sums, (1, 4, 5, 3),
                {0: ('b', 0), 1: ('i', 2), 2: ('i', 2)}, lambda y: ints(*y.shape))
    int16_layer('FULLY_CONNECTED.%s' % bias, 'FULLY_CONNECTED', (9, 33), bias, lambda x, w: x @ w.T, (2, 33), {})


def int16_operator(name, kind, shapes, scales, out, function, options=None):
    """function(values..., scales..., scale of the result) as numbers that are not saturated yet."""
    def make(m):
        values = [words(*s) for s in shapes]
        scales32 = [np.float32(s) for s in (*scales, out)]
        y = saturated(function(*(v.astype('int64') for v in values), *scales32))
        operands = [m.input(v, scale=s) for v, s in zip(values, scales32)]
        return [m.add(kind, operands, y.shape, 'int16', options, scale=scales32[-1])], [y]
    cases.append(('int16.' + name, make))


def added(sign):
    def add(x, y, a, b, out):
        twice = 2 * float(max(a, b))
        parts = requantized(x * 2**15, float(a) / twice) + sign * requantized(y * 2**15, float(b) / twice)
        return requantized(parts, twice / (2**15 * float(out)))
    return add


def multiplied(x, y, a, b, out):
    return requantized(x * y, float(a) * float(b) / float(out))


def batch_product(x, y, a, b, out):
    return long_requantized(x @ y, float(np.float32(a * b)) / float(out))


PAIR = [(1, 4, 5, 6), (1, 4, 5, 6)]
for shapes, form in ((PAIR, ''), ([PAIR[0], (1, 1, 1, 6)], '.channels')):
    int16_operator('ADD' + form, 'ADD', shapes, (A_SCALE, B_SCALE), 0.00043, added(1), {0: ('b', 0)})
    int16_operator('SUB' + form, 'SUB', shapes, (A_SCALE, B_SCALE), 0.00043, added(-1), {0: ('b', 0)})
    int16_operator('MUL' + form, 'MUL', shapes, (A_SCALE, B_SCALE), 0.0017, multiplied, {0: ('b', 0)})
int16_operator('MAXIMUM', 'MAXIMUM', PAIR, (A_SCALE, A_SCALE), A_SCALE, lambda x, y, *_: np.maximum(x, y))
int16_operator('BATCH_MATMUL', 'BATCH_MATMUL', [(2, 4, 5), (2, 5, 6)], (A_SCALE, B_SCALE), 0.003, batch_product)

LINE = [(1, 512)]


def below(slope):
    def function(x, a, out):
        factor = float(np.float32(a * np.float32(slope)) / out)
        under = requantized(x, abs(factor)) * (1 if factor > 0 else -1)
        return np.where(x >= 0, requantized(x, float(a / out)), under)
    return function


def sigmoid_steps(x, scale):
    """Steps of 1 / 12288, by a factor of 15 bits; the logistic function of i / 24 in 16 bits as LiteRT's table has it."""
    factor, shift = float(scale) * 12288, 0
    while factor <= 32767 / 2:
        factor, shift = factor * 2, shift + 1
    table = np.rint(65536 / (1 + np.exp(-np.arange(256) / 24))).astype('int64')
    more = (0xC0467BAEFA7BD110, 0x11009020440005, 0x80, 0x8000000000000000)
    return (x * int(factor) + (1 << shift >> 1)) >> shift, table + [more[i // 64] >> i % 64 & 1 for i in range(256)]


def interpolated(table, size, bits):
    at = np.minimum(size >> bits, 254)
    return np.where(size >> bits >= 255, -1, (table[at] << bits) + (size & (1 << bits) - 1) * (table[at + 1] - table[at]))


def logistic(x, a, out):
    x, table = sigmoid_steps(x, a)
    v = interpolated(table, abs(x), 9)
    v = np.where(v < 0, 0x7fff << 10, v)
    return np.where(x >= 0, v + 512, (1 << 25) - v + 511) >> 10


def hyperbolic_tangent(x, a, out):
    x, table = sigmoid_steps(x, a)
    v = interpolated(table, abs(x), 8)
    v = np.where(v < 0, 0xffff << 8, v)
    return np.where(x >= 0, v - (1 << 23) + 128, -v + (1 << 23) + 127) >> 8


def softmax_table(scale, zero, function):
    f = np.float32
    low, high, inverse = f(scale) * f(-2**15 - zero), f(scale) * f(2**15 - 1 - zero), f(65536) / (f(2 / 65535) * f(65535))
    step = (high - low) / f(512)
    ends = low + np.arange(513, dtype='float32') * step
    value, middle = (function(v.astype('float64')).astype('float32') for v in (ends, ends + step / f(2)))
    def away(v):
        return np.copysign(np.floor(abs(v) + f(0.5)), v)
    sample = away(value * inverse)
    error = away((value[1:] * inverse + sample[:-1]) / f(2)) - away(middle[:-1] * inverse)
    return saturated(np.append(sample[:-1] - away(error / f(2)), sample[-1])).astype('int64')


def looked_up(table, v):
    at = 256 + (v >> 7)
    return table[at] + ((table[at + 1] - table[at]) * (v & 127) + 64 >> 7)


def softmax_of_words(x, a, out):
    powers = softmax_table(10 / 65535, 2**15 - 1, np.exp)
    parts = softmax_table(1 / 65535, -2**15, lambda v: 1 / (1 + v))
    steps = requantized(x - x.max(-1, keepdims=True), float(a) / (10 / 65535))
    e = looked_up(powers, np.clip(steps + 2**15 - 1, -2**15, 2**15 - 1))
    y = []
    for row in e:
        total = int(row.sum())
        headroom = 31 - total.bit_length()
        shifted = ((total << headroom) + (1 << 13) >> 14) - (1 << 15) - (1 << 16)
        scale = int(looked_up(parts, np.array(min(max(shifted, -2**15), 2**15 - 1))))
        y.append((row * scale + (1 << 29 - headroom) >> 30 - headroom).clip(0))
    return np.array(y)


def log_softmax_of_words(x, a, out):
    below = (x - x.max(-1, keepdims=True)) * float(a)
    v = (below - np.log(np.exp(below).sum(-1, keepdims=True))) / float(out)
    return np.copysign(np.floor(abs(v) + 0.5), v)


int16_operator('LEAKY_RELU', 'LEAKY_RELU', LINE, (A_SCALE,), 0.0003, below(0.1), {0: ('f', 0.1)})
int16_operator('LEAKY_RELU.negative', 'LEAKY_RELU', LINE, (A_SCALE,), 0.0003, below(-0.3), {0: ('f', -0.3)})
int16_operator('ABS', 'ABS', LINE, (A_SCALE,), 0.00013, below(-1))
int16_operator('RELU', 'RELU', LINE, (0.0006,), 0.00031, lambda x, a, out: requantized(x, float(a / out)).clip(0))
for scale in (0.00001, 0.0002, 0.001):
    int16_operator('LOGISTIC.%g' % scale, 'LOGISTIC', LINE, (scale,), 2**-15, logistic)
    int16_operator('TANH.%g' % scale, 'TANH', LINE, (scale,), 2**-15, hyperbolic_tangent)
int16_operator('SOFTMAX', 'SOFTMAX', [(5, 21)], (0.0002,), 2**-15, softmax_of_words, {0: ('f', 1.0)})
int16_operator('LOG_SOFTMAX', 'LOG_SOFTMAX', [(5, 21)], (0.0002,), 0.0005, log_softmax_of_words)


def int16_change(before, after, zeros, scales):
    """QUANTIZE from one type to another."""
    def make(m):
        low, high = np.iinfo(before).min, np.iinfo(before).max
        x = np.linspace(low, high, 512).astype('int64').clip(low, high).astype(before)[None]
        y = requantized(x.astype('int64') - zeros[0], float(np.float32(scales[0])) / float(np.float32(scales[1]))) + zeros[1]
        y = y.clip(np.iinfo(after).min, np.iinfo(after).max).astype(after)
        t = m.input(x, scale=scales[0], zero_point=zeros[0])
        return [m.add('QUANTIZE', [t], y.shape, after, scale=scales[1], zero_point=zeros[1])], [y]
    cases.append(('int16.QUANTIZE.%s.%s' % (before, after), make))


int16_change('int8', 'int16', (5, 0), (0.03, 0.0004))
int16_change('int16', 'int8', (0, -9), (0.0004, 0.07))
int16_change('int16', 'int16', (0, 0), (0.0005, 0.000731))
int16_change('int32', 'int16', (0, 0), (1e-9, 3e-5))
int16_change('int16', 'int32', (0, 0), (0.0003, 1e-6))


def int16_of_floats(m):
    """A division, halves away from zero."""
    x = real(1, 512, low=-4, high=4)
    x[0, :4] = 1.5 * A_SCALE, -2.5 * A_SCALE, 1e9, -1e9
    quotient = x / A_SCALE
    y = saturated(np.copysign(np.floor(abs(quotient.astype('float64')) + 0.5), quotient))
    return [m.add('QUANTIZE', [m.input(x)], y.shape, 'int16', scale=A_SCALE)], [y]


cases.append(('int16.QUANTIZE.float32', int16_of_floats))


def int16_pool(kind, size, stride, same):
    def make(m):
        x = words(1, 8, 8, 6)
        least = -2**15 if kind == 'MAX_POOL_2D' else 0
        parts = windows(x[0].astype('int64'), least, size, stride, same)
        counts = windows(np.ones((8, 8, 1), 'int64'), 0, size, stride, same).sum(2)
        sums = parts.sum(2)
        mean = np.sign(sums) * ((abs(sums) + counts // 2) // counts)
        y = saturated(parts.max(2) if kind == 'MAX_POOL_2D' else mean)[None]
        options = {0: ('b', 0 if same else 1), 1: ('i', stride), 2: ('i', stride), 3: ('i', size), 4: ('i', size)}
        return [m.add(kind, [m.input(x, scale=A_SCALE)], y.shape, 'int16', options, scale=A_SCALE)], [y]
    cases.append(('int16.%s.%d' % (kind, size), make))


for kind in ('AVERAGE_POOL_2D', 'MAX_POOL_2D'):
    int16_pool(kind, 4, 4, False)
    int16_pool(kind, 3, 2, True)


def int16_mean(m):
    x = words(1, 5, 6, 8)
    mantissa, shift = math.frexp(float(A_SCALE) / float(B_SCALE))
    multiplier = (round(mantissa * 2**31) << 4) // 30  # of 30 values, which have five bits
    y = saturated(requantized(x.sum((1, 2), 'int64'), math.ldexp(multiplier, shift - 4 - 31)))
    return [m.add('MEAN', [m.input(x, scale=A_SCALE), m.constant(ints(1, 2))], y.shape, 'int16', scale=B_SCALE)], [y]


cases.append(('int16.MEAN', int16_mean))


def int16_moves(m):
    """Elements are copied: padding, a transposition, a part, a join."""
    x = words(1, 4, 5, 3)
    pads = np.array([(0, 0), (1, 2), (0, 1), (0, 0)], 'int32')
    kept = {'dtype': 'int16', 'scale': A_SCALE}
    y = np.pad(x, pads).transpose(0, 3, 1, 2)[:, :, 1:5]
    t = m.add('PAD', [m.input(x, scale=A_SCALE), m.constant(pads)], (1, 7, 6, 3), **kept)
    t = m.add('TRANSPOSE', [t, m.constant(ints(0, 3, 1, 2))], (1, 3, 7, 6), **kept)
    t = m.add('SLICE', [t, m.constant(ints(0, 0, 1, 0)), m.constant(ints(1, 3, 4, 6))], (1, 3, 4, 6), **kept)
    t = m.add('CONCATENATION', [t, t], (1, 6, 4, 6), options={0: ('i', 1)}, **kept)
    return [m.add('RESHAPE', [t, m.constant(ints(6, 24))], (6, 24), **kept)], [np.tile(y, (1, 2, 1, 1)).reshape(6, 24)]


cases.append(('int16.moves', int16_moves))


integer_lstm = litert_states.add(cases, random, requantized)
litert_signal.add(cases, random)
integer_lstm('in_integers', False, 2.0**-11, 0, long_requantized)
integer_lstm('in_integers_clipped', True, 2.0**-13, 1.25, long_requantized)
int16_operator('MINIMUM', 'MINIMUM', [(2, 4, 5), (2, 1, 5)], (A_SCALE, A_SCALE), A_SCALE, lambda x, y, *_: np.minimum(x, y))


def squared_difference(x, y, a, b, out):
    twice = 2 * float(max(a, b))
    return requantized((requantized(x, float(a) / twice) - requantized(y, float(b) / twice))**2, twice**2 / float(out))


def int8_squared_difference(m):
    x, y = (whole(1, 5, 6, 7, low=-128, high=128, dtype='int8') for _ in range(2))
    a, b, out = np.float32(0.03), np.float32(0.02), np.float32(0.11)
    twice = 2 * float(max(a, b))
    parts = requantized((x.astype('int64') - 3) * 128, float(a) / twice) - requantized((y.astype('int64') + 5) * 128, float(b) / twice)
    z = (requantized(parts**2, twice**2 / (2**14 * float(out))) - 128).clip(-128, 127).astype('int8')
    operands = [m.input(x, scale=a, zero_point=3), m.input(y, scale=b, zero_point=-5)]
    return [m.add('SQUARED_DIFFERENCE', operands, z.shape, 'int8', scale=out, zero_point=-128)], [z]


def int16_prelu(m):
    x, slopes = words(1, 5, 6, 7), whole(1, 1, 7, low=-127, high=128, dtype='int8')
    slope, out = np.float32(0.007), np.float32(0.00027)
    below = requantized(x.astype('int64') * slopes, float(A_SCALE) * float(slope) / float(out))
    y = saturated(np.where(x >= 0, requantized(x.astype('int64'), float(A_SCALE) / float(out)), below))
    operands = [m.input(x, scale=A_SCALE), m.constant(slopes, scale=slope)]
    return [m.add('PRELU', operands, y.shape, 'int16', scale=out)], [y]


def int16_choices(m):
    """Elements as they are: one of two, backwards, in place of others, parts, stacked."""
    x, y, part = words(4, 6), words(4, 6), words(2, 3)
    choice = whole(4, 6, low=0, high=2, dtype='bool')
    kept = {'dtype': 'int16', 'scale': A_SCALE}
    expected = np.where(choice, x, y)[:, ::-1].copy()
    expected[1:3, 2:5] = part
    t = m.add('SELECT_V2', [m.input(choice), m.input(x, scale=A_SCALE), m.input(y, scale=A_SCALE)], (4, 6), **kept)
    t = m.add('REVERSE_V2', [t, m.constant(ints(1))], (4, 6), **kept)
    t = m.add('DYNAMIC_UPDATE_SLICE', [t, m.input(part, scale=A_SCALE), m.constant(ints(1, 2))], (4, 6), **kept)
    t = m.add('STRIDED_SLICE', [t, *(m.constant(ints(*v)) for v in ((0, 5), (4, -7), (2, -2)))], (2, 3),
              options={0: ('i', 0), 1: ('i', 2)}, **kept)
    u = m.add('EXPAND_DIMS', [t, m.constant(ints(0))], (1, 2, 3), **kept)
    t = m.add('PACK', [t, t], (2, 2, 3), options={0: ('i', 2), 1: ('i', 0)}, **kept)
    t = m.add('CONCATENATION', [u, t], (3, 2, 3), options={0: ('i', 0)}, **kept)
    return [t], [np.tile(expected[::2, ::-2], (3, 1, 1))]


def int16_nearest(m):
    x = words(1, 4, 5, 3)
    operands = [m.input(x, scale=A_SCALE), m.constant(ints(8, 10))]
    y = x.repeat(2, 1).repeat(2, 2)
    return [m.add('RESIZE_NEAREST_NEIGHBOR', operands, y.shape, 'int16', scale=A_SCALE)], [y]


def int16_to_floats(m):
    x = words(1, 512)
    return [m.add('DEQUANTIZE', [m.input(x, scale=A_SCALE)], x.shape)], [x.astype('float32') * A_SCALE]


def int16_sum(m):
    x = words(1, 5, 6, 8)
    y = saturated(requantized(x.sum((1, 2), 'int64'), float(A_SCALE) / 0.0013))
    return [m.add('SUM', [m.input(x, scale=A_SCALE), m.constant(ints(1, 2))], y.shape, 'int16', scale=0.0013)], [y]


int16_operator('SQUARED_DIFFERENCE', 'SQUARED_DIFFERENCE', PAIR, (A_SCALE, B_SCALE), 0.004, squared_difference)
int16_operator('RELU6', 'RELU6', LINE, (A_SCALE * 2,), A_SCALE * 2, lambda x, a, out: x.clip(0, round(6 / a)))
cases += [('int16.' + name, make) for name, make in (
    ('SQUARED_DIFFERENCE.int8', int8_squared_difference), ('PRELU', int16_prelu), ('choices', int16_choices), ('RESIZE_NEAREST_NEIGHBOR', int16_nearest),
    ('DEQUANTIZE', int16_to_floats), ('SUM', int16_sum))]


# ---- int8 operators that LiteRT computes in integers of their own ----


def int8_function(name, kind, function, in_scale, out, zeros, options=None):
    """All values of int8 with a zero point, by a function of the value about it, as numbers that are not saturated yet."""
    def make(m):
        x = np.arange(-128, 128).astype('int8')[None]
        y = function(x.astype('int64') - zeros[0], np.float32(in_scale), np.float32(out)) + zeros[1]
        y = y.clip(-128, 127).astype('int8')
        t = m.input(x, scale=in_scale, zero_point=zeros[0])
        return [m.add(kind, [t], y.shape, 'int8', options, scale=out, zero_point=zeros[1])], [y]
    cases.append(('int16.' + name, make))


def clipped_steps(high):
    def function(x, a, out):
        return requantized(x, float(a / out)).clip(0, high and round(high / float(out)))
    return function


def elu_steps(x, a, out):
    x = x.astype('float32') * a
    y = np.where(x < 0, np.exp(x) - np.float32(1), x).astype('float32') * (np.float32(1) / out)
    return np.copysign(np.floor(abs(y) + np.float32(0.5)), y).astype('int64')


int8_function('RELU.int8', 'RELU', clipped_steps(None), 0.0235, 0.05, (-128, -7))
int8_function('RELU6.int8', 'RELU6', clipped_steps(6), 0.031, 0.0235, (0, -128))
int8_function('ELU.int8', 'ELU', elu_steps, 0.0235, 0.0117, (-20, 3))


def int8_prelu(name, slopes, zero, scales):
    """Slopes about a zero point: one, or one for each channel."""
    def make(m):
        x, (a, b, out) = whole(1, 5, 6, 7, low=-128, high=128, dtype='int8'), (float(np.float32(s)) for s in scales)
        v = x.astype('int64') - 3
        y = np.where(v >= 0, requantized(v, a / out), requantized(v * (slopes.astype('int64') - zero), a * b / out)) - 5
        y = y.clip(-128, 127).astype('int8')
        operands = [m.input(x, scale=a, zero_point=3), m.constant(slopes, scale=b, zero_point=zero)]
        return [m.add('PRELU', operands, y.shape, 'int8', scale=out, zero_point=-5)], [y]
    cases.append(('int16.PRELU.int8' + name, make))


int8_prelu('', whole(1, 1, 7, low=-57, high=127, dtype='int8'), 70, (0.03, 0.007, 0.021))
int8_prelu('.one', np.array([90], 'int8'), 40, (0.0061, 0.009, 0.031))


def int8_clipped_pool(m):
    """Rounded, then clipped."""
    x = whole(1, 8, 8, 6, low=-128, high=128, dtype='int8')
    sums = (windows(x[0].astype('int64'), 0, 2, 2, False)).sum(2)
    y = (np.sign(sums) * ((abs(sums) + 2) // 4)).clip(5, 127).astype('int8')[None]
    t = m.input(x, scale=0.05, zero_point=5)
    options = {0: ('b', 1), 1: ('i', 2), 2: ('i', 2), 3: ('i', 2), 4: ('i', 2), 5: ('b', 1)}
    return [m.add('AVERAGE_POOL_2D', [t], y.shape, 'int8', options, scale=0.05, zero_point=5)], [y]


cases.append(('int16.AVERAGE_POOL_2D.int8.relu', int8_clipped_pool))

# ---- int8 operators that have no kernel in integers here ----


def int8_steps(name, kind, function, shapes, scales, options=None, constants=()):
    """Scales are powers of two, so that results lie on their steps or far from where rounding turns."""
    def make(m):
        values = [whole(*s, low=-100, high=100, dtype='int8') for s in shapes]
        y = function(*(v * s for v, s in zip(values, scales))) / scales[-1]
        y = np.round(y).clip(-128, 127).astype('int8')
        tensors = [m.input(v, scale=s) for v, s in zip(values, scales)] + [m.constant(c) for c in constants]
        return [m.add(kind, tensors, y.shape, 'int8', options, scale=scales[-1])], [y]
    cases.append((name + '.int8', make))


int8_steps('PRELU.pixels', 'PRELU', lambda x, s: np.where(x > 0, x, x * s), [IMAGE, (4, 5, 3)], (0.25, 0.0625, 2**-6))
int8_steps('CUMSUM', 'CUMSUM', lambda x: np.cumsum(x, 1), [(3, 6)], (0.25, 0.25), None, [np.int32(1)])
int8_steps('ADD_N', 'ADD_N', lambda x, y, z: x + y + z, [IMAGE, IMAGE, IMAGE], (0.25, 0.25, 0.25, 0.25))


@case('L2_NORMALIZATION.int8')
def int8_norm(m):
    x, y = np.array([[30, 40, 0], [-80, 0, 60]], 'int8'), np.array([[77, 102, 0], [-102, 0, 77]], 'int8')
    return [m.add('L2_NORMALIZATION', [m.input(x, scale=0.5)], y.shape, 'int8', scale=2**-7)], [y]


for name, formula, shape, constants in (
        ('SPACE_TO_BATCH_ND', lambda x: space_to_batch(x + np.int8(3)) - np.int8(3), IMAGE,
         [ints(2, 2), np.array([[0, 0], [1, 0]], 'int32')]),
        ('BATCH_TO_SPACE_ND', batch_to_space, (4, 3, 2, 3), [ints(2, 2), np.array([[0, 1], [1, 0]], 'int32')]),
        ('GATHER_ND', lambda x: x[[2, 0]], (3, 4, 2), [np.array([[2], [0]], 'int32')])):
    operator(name + '.rows.int8', name, formula, [whole(*shape, low=-120, high=120, dtype='int8')], None, constants,
             scale=0.05)

@case('FULLY_CONNECTED.int4')
def int4_weights(m):
    """Two elements a byte, the first in its low bits; an odd number of them. Beside tensors that no operator reads."""
    x, w, b, scale = real(2, 5), whole(3, 5, low=-8, high=8, dtype='int8'), real(3), np.array([.1, .2, .3], 'float32')
    halves = np.append(w.ravel(), 0).astype('uint8') & 15
    t = m.tensor(w.shape, 'int4', (halves[::2] | halves[1::2] << 4).tobytes(), scale=scale)
    m.tensor((1,), 'string')
    m.tensor((2, 2), 'int4')
    y = (x.astype('float64') @ (w * scale[:, None]).T + b).astype('float32')
    return [m.add('FULLY_CONNECTED', [m.input(x), t, m.constant(b)], (-1, 3))], [y]


operator('TRANSPOSE.from the end', 'TRANSPOSE', lambda x: x.transpose(0, 3, 1, 2), [IMAGE], constants=[ints(0, -1, 1, -2)])

def int8_product(name, factor, activation=0):
    """With itself, with a number, with another tensor; clipped after it is rounded."""
    def make(m):
        a, b, out = (float(np.float32(v)) for v in (0.0313, 0.0271, 0.0607))
        x = whole(1, 3, 5, 7, low=-128, high=128, dtype='int8')
        y = x if factor == 'itself' else np.array([77], 'int8') if factor == 'number' else \
            whole(*x.shape, low=-128, high=128, dtype='int8')
        b, zero = (a, 5) if factor == 'itself' else (b, -9)
        z = requantized((x.astype('int64') - 5) * (y.astype('int64') - zero), a * b / out)
        z = np.clip(z, *((0, round(6 / out)) if activation else (-256, 256)))
        z = (z - 20).clip(-128, 127).astype('int8')
        t = m.input(x, scale=a, zero_point=5)
        u = t if factor == 'itself' else (m.constant if factor == 'number' else m.input)(y, scale=b, zero_point=zero)
        return [m.add('MUL', [t, u], z.shape, 'int8', {0: ('b', activation)}, scale=out, zero_point=-20)], [z]
    cases.append(('int16.MUL.int8.' + name, make))


int8_product('itself', 'itself')
int8_product('number', 'number')
int8_product('relu6', 'other', 3)

@case('CONCATENATION.nothing')
def joined_with_nothing(m):
    """The first element of a list is set, as loops do it: what lies before it has no elements."""
    x, item, all = real(4, 1, 3), real(1, 1, 3), ints(-1, -1, -1)
    t = m.input(x)
    left = m.add('SLICE', [t, m.constant(ints(0, 0, 0)), m.constant(ints(0, -1, -1))], (1, 1, 3))
    right = m.add('SLICE', [t, m.constant(ints(1, 0, 0)), m.constant(all)], (3, 1, 3))
    y = np.concatenate([item, x[1:]])
    return [m.add('CONCATENATION', [left, m.input(item), right], y.shape, options={0: ('i', 0)})], [y]

def response(x, radius=2, bias=1.5, alpha=0.4, beta=0.75):
    squares = np.pad(x * x, [(0, 0)] * 3 + [(radius, radius)])
    return x / (bias + alpha * sum(squares[..., k:k + x.shape[-1]] for k in range(2 * radius + 1)))**beta


operator('LOCAL_RESPONSE_NORMALIZATION', 'LOCAL_RESPONSE_NORMALIZATION', at_float(response), [(1, 3, 4, 7)],
         {0: ('i', 2), 1: ('f', 1.5), 2: ('f', 0.4), 3: ('f', 0.75)})


@case('SCATTER_ND')
def scattered(m):
    """Values of one place are added up."""
    at, values = np.array([[0, 1], [2, 3], [0, 1]], 'int32'), real(3, 2)
    y = np.zeros((3, 4, 2), 'float32')
    np.add.at(y, (at[:, 0], at[:, 1]), values)
    operands = [m.constant(at), m.input(values), m.constant(ints(*y.shape))]
    return [m.add('SCATTER_ND', operands, y.shape)], [y]

def as_int8(values):
    return (values ^ 128).view('int8') if values.dtype == np.uint8 else values


def main():
    data, programs = bytearray(), []

    def put(content):
        data.extend(bytes(-len(data) % 8))
        data.extend(content)
        return [len(data) - len(content), len(content)]

    for name, make in cases:
        m = Model()
        outputs, values = make(m)
        values = [as_int8(np.ascontiguousarray(v)) for v in values]
        if re.search(sys.argv[2], name) is None if len(sys.argv) > 2 else name.startswith(('uint8.', 'int16.')):
            continue
        content = m.content(outputs)
        programs.append({
            'name': name, 'tolerance': [1e-5, 5e-6], 'model': put(content),
            'inputs': [put(as_int8(v).tobytes()) for _, v in m.inputs],
            'outputs': [{'dtype': str(v.dtype), 'sizes': list(v.shape[1:] if m.runs > 1 else v.shape),
                         'data': put(v.tobytes())} for v in values],
            **({'runs': m.runs} if m.runs > 1 else {})})
    lines = [{'numpy': np.__version__, 'count': len(programs)}, *programs]
    with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, content in (('data', bytes(data)),
                              ('programs', '\n'.join(json.dumps(l, separators=(',', ':')) for l in lines))):
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED, 9)
    print(len(programs), 'models')


main()

#!/usr/bin/python3
"""Makes the programs that the golden test compiles, from PyTorch's own databases of operators and layers.

    golden_make.py torch.zip [REGEX]        with PyTorch 2.14 and its test modules: Debian's python3-torch and
                                            python3-expecttest; REGEX: programs of other operators stay as they are

operators.txt says for which operators (names of torch.testing._internal.common_methods_invocations.op_db, and of
layers: nn.NAME) and element types. Of each, sample inputs become programs: a module whose forward takes the tensors,
everything else being constant, exported with torch.export.export, and once more after run_decompositions() where that
changes it. What PyTorch computes without export is what is expected. golden.c says how the file is laid out.

NAME-TYPE-0      the operator; .dec: decomposed
NAME_-TYPE-0     in place, on a copy of the input; this and the next three not decomposed
NAME.t-TYPE-0    the input is seen through a transpose
NAME.cl-TYPE-0   inputs in channels-last order
NAME.p-TYPE-0    all inputs but the first are buffers, with the strides of a transposed tensor

Left out are samples without elements or with many, and programs whose output depends on chance, or whose shape
depends on data.
"""
import io, json, os, re, sys, warnings, zipfile
from operator import getitem

import numpy as np
import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = {'float32': 3, 'int64': 1, 'int32': 1, 'bool': 1}
MAX_ELEMENTS = 500     # of all inputs and outputs of a program
DTYPES = {torch.float32, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool}

# |difference| <= absolute + relative * |expected|; others for sums and products of many numbers, whose order differs,
# and for functions with poles.
TOLERANCE = (1e-4, 1e-5)
TOLERANCES = {
    'addbmm addmm addmv baddbmm bmm cumsum dot einsum inner matmul mean mm mv nanmean nansum nn.functional.linear '
    'std std_mean sum tensordot trace var var_mean vdot __rmatmul__ nn.functional.cosine_similarity': (1e-4, 1e-4),
    'nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d '
    'nn.functional.conv_transpose2d nn.functional.conv_transpose3d': (1e-4, 2e-4),
    'cumprod prod tan': (1e-3, 1e-5),
    'cdist': (1e-3, 1e-3),
    'nn.functional.bilinear': (1e-4, 2e-3),
}
SORTING = ('argsort', 'kthvalue', 'median', 'msort', 'nanmedian', 'sort', 'topk')


class Unusable(Exception):
    """The sample makes no program for the test."""


class Data:
    """Bytes; what occurs twice is stored once."""
    def __init__(self):
        self.bytes, self.offsets = bytearray(), {}

    def put(self, content):
        if content not in self.offsets:
            self.bytes.extend(bytes(-len(self.bytes) % 8))
            self.offsets[content] = len(self.bytes)
            self.bytes.extend(content)
        return [self.offsets[content], len(content)]


def tensors(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def plain(result):
    """Named tuples, which torch.export.save() does not write, as tuples."""
    return tuple(plain(r) for r in result) if isinstance(result, (tuple, list)) else result


def module_of(function, args, kwargs, layer=None, fixed=False):
    """A module that calls the function with its inputs in place of the tensors; and these tensors."""
    leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    inputs = [leaves[i].detach().clone(memory_format=torch.contiguous_format) for i in places]
    n_inputs = 1 if fixed else len(inputs)

    def call(self, given):
        values = list(leaves)
        for place, x in zip(places, given + [b for b in self.buffers(recurse=False)]):
            values[place] = x
        a, k = pytree.tree_unflatten(values, spec)
        return plain(function(*a, **k) if layer is None else self.layer(*a, **k))

    names = ['x%d' % i for i in range(n_inputs)]
    scope = {'call': call}
    exec('def forward(self%s): return call(self, [%s])' % (''.join(', ' + n for n in names), ', '.join(names)), scope)
    module = type('Program', (torch.nn.Module,), {'forward': scope['forward']})()
    for i, x in enumerate(inputs[n_inputs:]):
        module.register_buffer('b%d' % i, x.mT.contiguous().mT if x.dim() > 1 else x)
    if layer is not None:
        module.layer = layer
    return module.eval(), inputs[:n_inputs]


def equal(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a.double(), b.double(), 0, 0, equal_nan=True)


def compute(module, inputs, seed):
    torch.manual_seed(seed)
    with torch.no_grad():
        result = module(*[x.clone() for x in inputs])
    outputs = pytree.tree_leaves(result)
    if not outputs or not all(isinstance(o, torch.Tensor) and o.dtype in DTYPES for o in outputs):
        raise Unusable('outputs')
    return [o.detach().clone(memory_format=torch.contiguous_format) for o in outputs]


def archive_of(program, data):
    file = io.BytesIO()
    torch.export.save(program, file)
    entries = {}
    with zipfile.ZipFile(file) as z:
        for name in z.namelist():
            entry, content = name.split('/', 1)[1], z.read(name)
            if entry.endswith('.json'):
                entries[entry] = json.loads(content)
            elif entry.startswith(('data/weights/', 'data/constants/')):
                entries[entry] = data.put(content)
            elif entry in ('archive_format', 'archive_version', 'byteorder', '.data/version'):
                entries[entry] = content.decode()
    for node in entries['models/model.json']['graph_module']['graph']['nodes']:
        node['metadata'] = {}  # source lines of the machine that made it
    return entries


def check_static(program):
    for node in program.graph.nodes:
        if node.op == 'call_function' and not isinstance(node.target, torch._ops.OpOverload | type(getitem)):
            raise Unusable('more than operators')
        for v in pytree.tree_leaves(node.meta.get('val')):
            if isinstance(v, (torch.SymInt, torch.SymBool, torch.SymFloat)):
                raise Unusable('symbolic')
            if isinstance(v, torch.Tensor) and not all(isinstance(s, int) for s in v.shape):
                raise Unusable('shape')
    if program.graph_signature.user_inputs_to_mutate or program.graph_signature.buffers_to_mutate:
        raise Unusable('mutation')


def operators(program):
    return [str(n.target) for n in program.graph.nodes if n.op == 'call_function']


def programs_of(name, operator, module, inputs, known, data):
    """Rows for the program and, where they differ, its decomposed form."""
    if any(x.dtype not in DTYPES or x.numel() == 0 for x in inputs):
        raise Unusable('inputs')
    expected = compute(module, inputs, 1)
    if not all(equal(a, b) for a, b in zip(expected, compute(module, inputs, 2))):
        raise Unusable('chance')
    if sum(x.numel() for x in inputs + expected) > MAX_ELEMENTS or sum(x.numel() for x in expected) == 0:
        raise Unusable('size')
    program = torch.export.export(module, tuple(x.clone() for x in inputs), strict=False)
    check_static(program)
    text = str(program.graph) + str([x.shape for x in inputs])
    if text in known or len(program.graph_signature.user_inputs) != len(inputs):
        raise Unusable('known')
    forms = [(name, program)]
    if not re.search(r'([^_]_|\.(t|cl|p))-', name):
        decomposed = program.run_decompositions()
        check_static(decomposed)
        if operators(decomposed) != operators(program):
            forms.append((name + '.dec', decomposed))
    known.add(text)
    tolerance = next((t for names, t in TOLERANCES.items() if operator in names.split()), TOLERANCE)
    values = dict(inputs=[data.put(x.contiguous().numpy().tobytes()) for x in inputs],
                  outputs=[dict(dtype=str(o.dtype)[6:], sizes=list(o.shape), data=data.put(o.numpy().tobytes()))
                           for o in expected])
    return [dict(name=n, operator=operator, tolerance=tolerance, archive=archive_of(p, data), **values) for n, p in forms]


def operator_forms(op, dtype):
    """Suffix, how a sample becomes (module, inputs), and how many programs."""
    def module(s, function=op.op, x=None, fixed=False):
        return module_of(function, (s.input if x is None else x, *s.args), s.kwargs, fixed=fixed)

    def in_place(x, *args, **kwargs):
        y = x.clone()
        op.inplace_variant(y, *args, **kwargs)
        return y

    def transposed(s):
        if not isinstance(s.input, torch.Tensor) or s.input.dim() < 2 or min(s.input.shape[-2:]) < 2:
            raise Unusable('rank')
        return module(s, lambda x, *args, **kwargs: op.op(x.transpose(-1, -2), *args, **kwargs), s.input.mT)

    def channels_last(s):
        m, inputs = module(s)
        ordered = [x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x for x in inputs]
        if all(x.is_contiguous() for x in ordered):
            raise Unusable('rank')
        return m, ordered

    def fixed(s):
        if len(tensors((s.input, s.args, s.kwargs))) < 2:
            raise Unusable('one tensor')
        return module(s, fixed=True)

    yield '', module, SAMPLES[dtype]
    if dtype == 'float32':
        if op.inplace_variant is not None and not op.name.startswith('__'):
            yield '_', lambda s: module(s, in_place), 1
        yield from (('.t', transposed, 1), ('.cl', channels_last, 1), ('.p', fixed, 1))


def operator_samples(op, dtype):
    """Sample inputs, those with several elements first."""
    torch.manual_seed(0)
    np.random.seed(0)
    samples = []
    for s in op.sample_inputs('cpu', getattr(torch, dtype), requires_grad=False):
        if op.name in SORTING and dtype != 'float32':  # which one of equal values comes first is left open
            s.input = torch.randperm(s.input.numel()).to(s.input.dtype).reshape(s.input.shape)
        sizes = [t.numel() for t in tensors((s.input, s.args, s.kwargs))]
        if sizes and min(sizes) > 0:
            samples.append((max(sizes) == 1, s))
        if len(samples) == 60:
            break
    return [s for _, s in sorted(samples, key=lambda pair: pair[0])]


def spread(items, count):
    """All items, `count` that are far apart first."""
    first = [round(i * (len(items) - 1) / max(1, count - 1)) for i in range(min(count, len(items)))]
    return [items[i] for i in first] + [x for i, x in enumerate(items) if i not in first]


def from_operator(op, dtype, data):
    name = op.name.replace('nn.functional.', 'F.') + ('.' + op.variant_test_name if op.variant_test_name else '')
    for suffix, form, count in operator_forms(op, dtype):
        rows, known, made = [], set(), 0
        for s in spread(operator_samples(op, dtype), count):
            try:
                rows += programs_of('%s%s-%s-%d' % (name, suffix, dtype, made), op.name, *form(s), known, data)
                made += 1
            except Unusable:
                continue
            except Exception as e:  # a form the export does not take
                print('%s%s %s: %s' % (name, suffix, dtype, str(e).split('\n')[0][:100]), file=sys.stderr)
            if made == count:
                break
        yield from rows


def from_layer(info, data):
    name, known, made = 'nn.' + info.module_cls.__name__, set(), 0
    torch.manual_seed(0)
    for s in info.module_inputs_func(info, device='cpu', dtype=torch.float32, requires_grad=False, training=False):
        torch.manual_seed(3)
        layer = info.module_cls(*s.constructor_input.args, **s.constructor_input.kwargs).eval()
        for b in layer.buffers():
            if b.is_floating_point():
                b.uniform_(0.5, 1.5)
        module, inputs = module_of(None, s.forward_input.args, s.forward_input.kwargs, layer)
        try:
            yield from programs_of('%s-%d' % (name, made), name, module, inputs, known, data)
            made += 1
        except Unusable:
            continue
        if made == (6 if name in ('nn.LSTM', 'nn.GRU', 'nn.RNN') else 2):
            break


def write(path, programs, data):
    lines = [dict(torch=torch.__version__.split('+')[0], count=len(programs))] + programs
    text = ''.join(json.dumps(line, separators=(',', ':')) + '\n' for line in lines)
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, content in (('programs', text.encode()), ('data', bytes(data.bytes))):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, content, compresslevel=9)


def programs_kept(path, data):
    """The programs of a file that was written before, by operator."""
    kept = {}
    with zipfile.ZipFile(path) as z:
        old, lines = z.read('data'), z.read('programs').decode().splitlines()[1:]

    def moved(place):
        return data.put(old[place[0]:place[0] + place[1]])
    for program in map(json.loads, lines):
        program['archive'] = {k: moved(v) if isinstance(v, list) else v for k, v in program['archive'].items()}
        program['inputs'] = [moved(v) for v in program['inputs']]
        for output in program['outputs']:
            output['data'] = moved(output['data'])
        kept.setdefault(program['operator'], []).append(program)
    return kept


def programs_made(name, dtypes, data):
    if name.startswith('nn.') and name[3].isupper():
        for info in module_db:
            if info.module_cls.__name__ == name[3:]:
                yield from from_layer(info, data)
        return
    for dtype in dtypes:
        for op in op_db:
            if op.name == name and getattr(torch, dtype) in op.dtypes:
                yield from from_operator(op, dtype, data)


def main():
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    only = re.compile(sys.argv[2] if len(sys.argv) > 2 else '')
    programs, data = [], Data()
    kept = programs_kept(sys.argv[1], data) if len(sys.argv) > 2 else {}
    for line in open(os.path.join(HERE, 'operators.txt')):
        name, *dtypes = line.split()
        rows = kept.get(name, []) if not only.search(name) else list(programs_made(name, dtypes, data))
        print('%-44s %4d programs' % (name, len(rows)), flush=True)
        programs += rows
    write(sys.argv[1], programs, data)
    print('%d programs, %d bytes' % (len(programs), os.path.getsize(sys.argv[1])))


if __name__ == '__main__':
    main()

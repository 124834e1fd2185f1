#!/usr/bin/python3
"""Makes the programs that the golden test compiles, from PyTorch's own databases of operators and layers.

    golden_make.py torch.zip [REGEX]        with PyTorch 2.14 and its test modules: Debian's python3-torch and
                                            python3-expecttest; REGEX: only operators of such a name

operators.txt says for which operators (names of torch.testing._internal.common_methods_invocations.op_db, and of
layers: nn.NAME) and element types. Of each, sample inputs become programs: a module whose forward takes the tensors,
everything else being constant, exported with torch.export.export, and once more after run_decompositions() where that
changes it. For float32 there is also the in-place form, on a copy of the input. What PyTorch computes without export
is what is expected. golden.c says how the file is laid out.

Left out are samples without elements or with many, and programs whose output depends on chance, or whose shape
depends on data. The same PyTorch gives the same file.
"""
import io, json, os, re, sys, warnings, zipfile

import numpy as np
import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = {'float32': 2, 'int64': 1, 'int32': 1, 'bool': 1}
MAX_ELEMENTS = 300     # of all inputs and outputs of a program
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
        return self.offsets[content]


def tensors(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def plain(result):
    """Named tuples, which torch.export.save() does not write, as tuples."""
    return tuple(plain(r) for r in result) if isinstance(result, (tuple, list)) else result


def module_of(function, args, kwargs, layer=None):
    """A module that calls the function with its inputs in place of the tensors; and these tensors."""
    leaves, spec = pytree.tree_flatten((tuple(args), dict(kwargs)))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def call(self, inputs):
        given = list(leaves)
        for place, x in zip(places, inputs):
            given[place] = x
        a, k = pytree.tree_unflatten(given, spec)
        return plain(function(*a, **k) if layer is None else self.layer(*a, **k))

    names = ['x%d' % i for i in range(len(places))]
    scope = {'call': call}
    exec('def forward(self%s): return call(self, [%s])' % (''.join(', ' + n for n in names), ', '.join(names)), scope)
    module = type('Program', (torch.nn.Module,), {'forward': scope['forward']})()
    if layer is not None:
        module.layer = layer
    return module.eval(), [leaves[i].detach().clone(memory_format=torch.contiguous_format) for i in places]


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
                entries[entry] = [data.put(content), len(content)]
            elif entry in ('archive_format', 'archive_version', 'byteorder', '.data/version'):
                entries[entry] = content.decode()
    for node in entries['models/model.json']['graph_module']['graph']['nodes']:
        node['metadata'] = {}  # source lines of the machine that made it
    return entries


def check_static(program):
    for node in program.graph.nodes:
        for v in pytree.tree_leaves(node.meta.get('val')):
            if isinstance(v, (torch.SymInt, torch.SymBool, torch.SymFloat)):
                raise Unusable('symbolic')
            if isinstance(v, torch.Tensor) and (v.is_complex() or not all(isinstance(s, int) for s in v.shape)):
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
    decomposed = program.run_decompositions()
    check_static(decomposed)
    if operators(decomposed) != operators(program):
        forms.append((name + '.dec', decomposed))
    known.add(text)
    tolerance = next((t for names, t in TOLERANCES.items() if operator in names.split()), TOLERANCE)
    values = dict(inputs=[data.put(x.numpy().tobytes()) for x in inputs],
                  outputs=[dict(dtype=str(o.dtype)[6:], sizes=list(o.shape), offset=data.put(o.numpy().tobytes()))
                           for o in expected])
    return [dict(name=n, tolerance=tolerance, archive=archive_of(p, data), **values) for n, p in forms]


def operator_forms(op, dtype):
    """Suffix, function and how many programs."""
    yield '', op.op, SAMPLES[dtype]
    if op.inplace_variant is not None and dtype == 'float32' and not op.name.startswith('__'):
        def in_place(x, *args, **kwargs):
            y = x.clone()
            op.inplace_variant(y, *args, **kwargs)
            return y
        yield '_', in_place, 1


def operator_samples(op, dtype):
    """Sample inputs, those with several elements first."""
    torch.manual_seed(0)
    np.random.seed(0)
    samples = []
    for s in op.sample_inputs('cpu', getattr(torch, dtype), requires_grad=False):
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
    for suffix, function, count in operator_forms(op, dtype):
        rows, known, made = [], set(), 0
        for s in spread(operator_samples(op, dtype), count):
            module, inputs = module_of(function, (s.input, *s.args), s.kwargs)
            try:
                rows += programs_of('%s%s-%s-%d' % (name, suffix, dtype, made), op.name, module, inputs, known, data)
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


def main():
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    only = re.compile(sys.argv[2] if len(sys.argv) > 2 else '')
    programs, data = [], Data()
    for line in open(os.path.join(HERE, 'operators.txt')):
        name, *dtypes = line.split('#')[0].split() or ['']
        if not name or not only.search(name):
            continue
        before = len(programs)
        for dtype in dtypes:
            if name.startswith('nn.') and name[3].isupper():
                for info in module_db:
                    if info.module_cls.__name__ == name[3:]:
                        programs += from_layer(info, data)
            else:
                for op in op_db:
                    if op.name == name and getattr(torch, dtype) in op.dtypes:
                        programs += from_operator(op, dtype, data)
        print('%-44s %4d programs' % (name, len(programs) - before), flush=True)
    write(sys.argv[1], programs, data)
    print('%d programs, %d bytes' % (len(programs), os.path.getsize(sys.argv[1])))


if __name__ == '__main__':
    main()

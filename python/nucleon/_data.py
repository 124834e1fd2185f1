"""Arrays of any kind, and batches of them, as the library's arrays: dense, row-major, in memory that it borrows.

numpy and torch are used where objects of theirs are given, and are not imported otherwise. Nothing here decides what an
array means: the library binds arrays to inputs by name, type and shape.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import struct
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ._library import DTYPE_INDEX, DTYPE_NAMES, DTYPE_SIZE, MAX_RANK, ArrayInfo, TensorInfo, lib, text
from ._session import Session, encode
from .errors import BadInput, BadUsage

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "uint16", "int16", "int32", "int64")


class Tensor(NamedTuple):
    """An input or output: name, element type as torch names it, shape, and the dimensions from outermost to innermost
    in the program's memory. Data are given and taken in the order of the shape whatever that is."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]


def tensor(info: TensorInfo) -> Tensor:
    return Tensor(text(info.name), DTYPE_NAMES[info.dtype], tuple(info.sizes[: info.rank]),
                  tuple(info.dim_order[: info.rank]))


# ---- one array ----


class Array:
    """Elements of some object, without a copy where they lie as the library takes them."""

    kind = "plain"  # what gives results of its kind: "torch", "numpy" or "plain"
    dtype: str
    shape: tuple[int, ...]
    owner: Any  # keeps the elements alive
    address: int

    @property
    def nbytes(self) -> int:
        size: int = DTYPE_SIZE[self.dtype]
        return math.prod(self.shape) * size

    def elements(self) -> memoryview:
        return memoryview((ctypes.c_char * self.nbytes).from_address(self.address)).cast("B")

    def to(self, dtype: str) -> Array:
        """With elements of another type: what is not numpy's or torch's stays as it is."""
        return self

    def equals(self, other: Array) -> bool:
        return False


class _Torch(Array):
    kind = "torch"

    def __init__(self, value: Any) -> None:
        value = value.detach().cpu().resolve_conj().resolve_neg()
        if value.layout is not sys.modules["torch"].strided:
            value = value.to_dense()
        self.owner = value = value.contiguous()
        self.dtype = str(value.dtype).removeprefix("torch.")
        self.shape = tuple(value.shape)
        self.address = value.data_ptr()

    def to(self, dtype: str) -> Array:
        return _Torch(self.owner.to(getattr(sys.modules["torch"], dtype)))

    def equals(self, other: Array) -> bool:
        return bool((self.owner == other.owner).all())


class _Numpy(Array):
    kind = "numpy"

    def __init__(self, value: Any) -> None:
        numpy = _numpy()
        try:
            value = numpy.asarray(value, order="C")
        except ValueError as error:
            raise BadInput(f"the lists are no array: {error}") from None
        if value.dtype.hasobject or value.dtype.kind not in "biufV":
            raise BadInput(f"an array of {value.dtype} holds no numbers that nucleon takes")
        if not value.dtype.isnative:
            value = value.astype(value.dtype.newbyteorder("="))
        self.owner = value
        self.dtype = value.dtype.name
        self.shape = value.shape
        self.address = value.ctypes.data

    def to(self, dtype: str) -> Array:
        if dtype == "bfloat16":
            return self
        with _numpy().errstate(over="ignore", invalid="ignore"):
            return _Numpy(self.owner.astype(dtype))

    def equals(self, other: Array) -> bool:
        return bool((self.owner == other.owner).all())


class _Plain(Array):
    """Anything with the buffer protocol, and numbers."""

    _FORMATS = {"?": "bool", "e": "float16", "f": "float32", "d": "float64", "b": "int8", "B": "uint8", "h": "int16",
                "H": "uint16", "i": "int32", "I": "uint32"}

    def __init__(self, value: Any) -> None:
        if isinstance(value, (bool, int, float)):
            code = "?" if isinstance(value, bool) else "d" if isinstance(value, float) else "q"
            data, self.shape = struct.pack("=" + code, value), ()
        else:
            view = memoryview(value)
            code, data, self.shape = view.format.lstrip("@=" + (">" if sys.byteorder == "big" else "<")), view.tobytes(), tuple(view.shape or ())
            if code in ("l", "q", "L", "Q"):
                code = code.lower() if view.itemsize == 8 else "i"
        self.dtype = "int64" if code in ("l", "q") else self._FORMATS.get(code, code)
        self.owner = ctypes.create_string_buffer(data, max(len(data), 1))
        self.address = ctypes.addressof(self.owner)


def _numpy() -> Any:
    """numpy, which arrays and lists of numbers need."""
    try:
        import numpy
    except ImportError:
        raise BadUsage("numpy is needed for these data and is not installed (Debian: python3-numpy); paths, torch "
                       "tensors and array.array do without") from None
    return numpy


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    if is_torch(value) or hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return True
    if isinstance(value, (str, bytes, bytearray)) or not _has_buffer(value):
        return False
    return True


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def is_numbers(value: Any) -> bool:
    """A number, or lists of lists of numbers."""
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, (bool, int, float))


def array_of(value: Any) -> Array:
    if isinstance(value, Array):
        return value
    if is_torch(value):
        made: Array = _Torch(value)
    elif hasattr(value, "__array_interface__") or hasattr(value, "__array__") or isinstance(value, list):
        made = _Numpy(value)
    else:
        try:
            made = _Plain(value)
        except TypeError:
            raise BadInput(f"{type(value).__name__} is no array: give numpy arrays, torch tensors or what holds them"
                           ) from None
    if made.dtype in ("uint32", "uint64"):
        made = made.to("int64")
    if made.dtype not in DTYPE_INDEX:
        raise BadInput(f"an array of {made.dtype}: nucleon takes {', '.join(DTYPE_NAMES)}")
    if len(made.shape) > MAX_RANK:
        raise BadInput(f"an array of {len(made.shape)} dimensions: nucleon takes up to {MAX_RANK}")
    return made


def _suited(array: Array, wanted: str) -> Array:
    """In the input's type, where that is of the same sort and loses no integer. Others the library refuses.

    Real numbers for an int8 input are float32: the library quantizes them as the program says.
    """
    if array.dtype == wanted:
        return array
    if array.dtype in FLOATS:
        return array.to(wanted if wanted in FLOATS else "float32")
    if array.dtype in INTEGERS and wanted in INTEGERS and wanted != "int8":
        made = array.to(wanted)
        if made.dtype == wanted and array.equals(made):
            return made
    return array


def wrap(kind: str, dtype: str, shape: tuple[int, ...], elements: bytearray) -> Any:
    """Elements as an array of the kind that was given."""
    count = math.prod(shape)
    if kind == "torch":
        torch = sys.modules["torch"]
        flat = torch.frombuffer(elements, dtype=getattr(torch, dtype), count=count) if count else torch.empty(0)
        return flat.to(getattr(torch, dtype)).reshape(shape)
    try:
        import numpy
    except ImportError:
        view: Any = memoryview(elements)[: count * DTYPE_SIZE[dtype]]
        return view.cast(_FORMATS[dtype], shape) if dtype in _FORMATS and shape and count else view
    if dtype == "bfloat16":  # which numpy does not have: its bits are the upper half of float32
        upper = numpy.frombuffer(elements, "uint16", count).astype("uint32") << 16
        return upper.view("float32").reshape(shape)
    return numpy.frombuffer(elements, dtype, count).reshape(shape)


_FORMATS = {"bool": "?", "float32": "f", "float64": "d", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H",
            "int32": "i", "int64": "q"}


# ---- batches ----

_IN_MEMORY = 256 * 2**20  # bytes of copied batches, beyond which they lie in a file


class _Store:
    """Bytes that grow: in memory, or when they are many in a file that the system reads in as it is needed."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._file: Any = None

    def add(self, data: memoryview) -> None:
        if self._file is None and len(self._bytes) + len(data) > _IN_MEMORY:
            folder = None if os.environ.get("TMPDIR") else "/var/tmp" if os.path.isdir("/var/tmp") else None
            self._file = tempfile.TemporaryFile(prefix="nucleon-", dir=folder)
            self._file.write(self._bytes)
            self._bytes = bytearray()
        if self._file is None:
            self._bytes += data
        else:
            self._file.write(data)

    def memory(self) -> Any:
        """A writable buffer of all bytes."""
        if self._file is None:
            return self._bytes
        with self._file:
            self._file.flush()
            return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_COPY)


class _Column(Array):
    """The arrays of all batches under one name, joined along axis 0."""

    def __init__(self, name: str, first: Array) -> None:
        self.name, self.dtype, self.tail = name, first.dtype, first.shape[1:]
        self.kind = first.kind
        self.rows = 0
        self._store = _Store()

    def add(self, array: Array, batch: int) -> None:
        if array.dtype != self.dtype or array.shape[1:] != self.tail:
            raise BadInput(f"batch {batch}: '{self.name}' is {array.dtype} {list(array.shape)}, in the batches before it "
                           f"{self.dtype} {['any', *self.tail]}".replace("'any'", "N"))
        self.rows += array.shape[0]
        self._store.add(array.elements())

    def finish(self) -> _Column:
        self.shape = (self.rows, *self.tail)
        self.owner = self._store.memory()
        self.address = ctypes.addressof((ctypes.c_char * max(self.nbytes, 1)).from_buffer(self.owner)) \
            if self.nbytes else 0
        return self


class Batch(NamedTuple):
    """Samples lie along an axis of their own, are joined along the first one of the inputs, or are one without any."""

    arrays: dict[str, Array]
    labels: dict[str, Array]
    axis: str = "joined"  # "apart", "joined", "none"


def _is_text(value: Any) -> bool:
    """A file name, for instance, which some data sets give beside sample and label."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value is None or isinstance(value, (str, bytes))


def _take_apart(item: Any, inputs: Sequence[Tensor]) -> tuple[Mapping[str, Any], list[Any]]:
    """What goes to the inputs, by name, and what is left: labels."""
    if _is_call(item):
        return by_name(item[0], item[1], inputs), []
    if isinstance(item, Mapping):
        return {str(name): value for name, value in item.items() if not _is_text(value)}, []
    if is_array(item) or not isinstance(item, (tuple, list)) or (isinstance(item, list) and is_numbers(item)):
        return {_name(inputs, 0): item}, []
    values, rest = list(item[: len(inputs)]), list(item[len(inputs):])
    first = item[0] if item else None
    if isinstance(first, Mapping) or (isinstance(first, (tuple, list)) and not is_numbers(first)):
        return _take_apart(first, inputs)[0], [v for v in item[1:] if not _is_text(v)]
    if len(values) < len(inputs):
        names = ", ".join(f"'{t.name}'" for t in inputs)
        raise BadInput(f"a batch holds {len(values)} arrays, the model takes {len(inputs)}: {names}")
    return {_name(inputs, i): value for i, value in enumerate(values)}, [v for v in rest if not _is_text(v)]


def by_name(args: Sequence[Any], kwargs: Mapping[str, Any], inputs: Sequence[Tensor]) -> dict[str, Any]:
    """The arguments of a call of ``forward()`` as a mapping: the first inputs are positional, the others named."""
    names = [t.name for t in inputs]
    found = {_name(inputs, i): value for i, value in enumerate(args)}
    for name, value in kwargs.items():
        if name in found or name not in names:
            why = "is given twice" if name in found else "is no input"
            raise BadUsage(f"'{name}' {why}: the inputs are {_names(names)}")
        found[name] = value
    missing = [name for name in names if name not in found]
    if missing or len(args) > len(inputs):
        raise BadUsage(f"given {len(args) + len(kwargs)} inputs, {len(inputs)} are taken: {_names(names)}")
    return found


def _is_call(item: Any) -> bool:
    """(args, kwargs), as torch.export.export() takes them."""
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], tuple) and isinstance(item[1], Mapping)


def _name(inputs: Sequence[Tensor], index: int) -> str:
    return inputs[index].name if index < len(inputs) else f"in{index}"


def _matched(names: Iterable[str], inputs: Sequence[Tensor]) -> dict[str, Tensor]:
    """Inputs by the names of their arrays: as the library binds them, but for shapes and types."""
    found = {name: t for index, t in enumerate(inputs) for name in names if name in (t.name, f"in{index}")}
    if found or len(inputs) != 1:
        return found
    return {name: inputs[0] for name in names if not name.startswith("label")}


def _with_axis(array: Array) -> Array:
    """One sample as an array of samples."""
    other = Array()
    other.kind, other.dtype, other.owner, other.address = array.kind, array.dtype, array.owner, array.address
    other.shape = (1, *array.shape)
    return other


def batch_of(item: Any, inputs: Sequence[Tensor]) -> Batch:
    given, rest = _take_apart(item, inputs)
    matched = _matched(given, inputs)
    arrays = {name: array_of(value) for name, value in given.items()}
    for name, t in matched.items():
        arrays[name] = _suited(arrays[name], t.dtype)
    names = ["label"] if len(rest) == 1 else [f"label{i}" for i in range(len(rest))]
    labels = {name: array_of(value) for name, value in zip(names, rest)}
    flat = {name for name, t in matched.items() if len(arrays[name].shape) == len(t.shape) - 1}
    if flat:  # where samples have no axis, what belongs to them has none either
        arrays = {n: _with_axis(a) if n in flat or n not in matched else a for n, a in arrays.items()}
        labels = {n: _with_axis(a) for n, a in labels.items()}
    apart = any(len(arrays[name].shape) > len(t.shape) for name, t in matched.items())
    return Batch(arrays, labels, "none" if flat else "apart" if apart else "joined")


def suit(arrays: Mapping[str, Array], inputs: Sequence[Tensor]) -> bool:
    """Whether samples have the sizes of the inputs, as far as arrays are known to be of them."""
    return all(arrays[name].shape[1:] in (t.shape, t.shape[1:]) for name, t in _matched(arrays, inputs).items())


def _items(data: Iterable[Any]) -> Iterable[Any]:
    """A map-style data set ends at its length."""
    if not hasattr(data, "__iter__") and _length(data) > 0:
        return (data[i] for i in range(_length(data)))  # type: ignore[index]
    return data


def _length(data: Any) -> int:
    """Of batches; 0: it is not known."""
    try:
        return len(data)
    except TypeError:  # also of a loader of a stream, which has the method
        return 0


def is_one_batch(data: Any, inputs: Sequence[Tensor]) -> bool:
    """Arrays, not an iterable of batches of arrays."""
    if isinstance(data, (Mapping, tuple)) or is_array(data) or is_numbers(data):
        return True
    return isinstance(data, list) and len(inputs) > 1 and len(data) == len(inputs) and all(map(is_array, data))


def collect(data: Any, inputs: Sequence[Tensor], session: Session) -> Batch:
    """All samples of data that are no path, with their labels."""
    if is_one_batch(data, inputs):
        return batch_of(data, inputs)
    if isinstance(data, (bytes, bytearray)) or (not isinstance(data, Iterable) and not hasattr(data, "__getitem__")):
        raise BadUsage(f"data: {type(data).__name__} is neither a path, nor arrays, nor an iterable of batches")
    columns: dict[str, _Column] = {}
    labels: set[str] = set()
    total = _length(data)
    session.tell("read batches", 0, total)
    count = 0
    for count, item in enumerate(_items(data), 1):
        batch = batch_of(item, inputs)
        joined = {**batch.arrays, **batch.labels}
        labels.update(batch.labels)
        if columns and set(joined) != set(columns):
            raise BadInput(f"batch {count - 1} holds {_names(joined)}, the batches before it {_names(columns)}")
        for name, array in joined.items():
            if not array.shape:
                array = _with_axis(array)
            column = columns.setdefault(name, _Column(name, array))
            column.add(array, count - 1)
        session.tell("read batches", count, total)
        session.check(0)
    if count == 0:
        raise BadInput("data: there is no batch (a generator gives its batches once)")
    arrays = {name: column.finish() for name, column in columns.items()}
    return Batch({n: a for n, a in arrays.items() if n not in labels}, {n: arrays[n] for n in labels})


def _names(arrays: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in arrays)


# ---- data sets ----


def is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def dataset_of_arrays(arrays: Mapping[str, Array], name: str, session: Session) -> ctypes.c_void_p:
    infos = (ArrayInfo * max(len(arrays), 1))()
    for info, (key, array) in zip(infos, arrays.items()):
        info.name = session.keep(encode(key))
        info.dtype = DTYPE_INDEX[array.dtype]
        info.rank = len(array.shape)
        info.sizes[: len(array.shape)] = array.shape
        info.data = array.address
        info.bytes = array.nbytes
        session.keep(array)
    out = ctypes.c_void_p()
    session.call(lib.nuc_dataset_of_arrays, encode(name), infos, len(arrays), ctypes.byref(out))
    return out


def arrays_of(data: Any, inputs: Sequence[Tensor], session: Session) -> dict[str, Array]:
    """Samples in memory, without labels."""
    return dict(collect(data, inputs, session).arrays)


def dataset(data: Any, inputs: Sequence[Tensor], name: str, session: Session, labels: Any = None,
            with_labels: bool = False) -> ctypes.c_void_p:
    """The library's data set. Labels that come with samples are left out unless they are asked for."""
    if is_path(data):
        if labels is not None:
            raise BadUsage("labels: they are an array 'label' of the file, when the data are a path")
        out = ctypes.c_void_p()
        session.call(lib.nuc_dataset_open, encode(data), ctypes.byref(out))
        return out
    batch = collect(data, inputs, session)
    arrays = dict(batch.arrays)
    if with_labels:
        arrays.update(batch.labels)
    if labels is not None:
        given = labels if isinstance(labels, Mapping) else {"label": labels}
        for key, value in given.items():
            array = array_of(value)
            arrays[key] = _with_axis(array) if batch.axis == "none" or not array.shape else array
    return dataset_of_arrays(arrays, name, session)

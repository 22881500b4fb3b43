"""PrimFuncs behind the packed API: what MakePackedAPI makes of one for a host.

They take one array of arguments, of which they read types, shapes and strides, and assert what the
caller must have kept. Here the arguments are those of the PrimFunc before: a NumPy array stands
for the `DLTensor` that describes it, on the CPU, compact, with its strides given; a Python number
for a number. So the assertions are evaluated, too.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx
from tvm.target.codegen import llvm_get_intrinsic_name

from ...compat import ir
from ..errors import Undefined, Unsupported
from ..inspect import attr, nodes
from .intrinsics import BINARY, UNARY
from .packed import PACKED
from .packed_stack import ADDRESS
from .packed_stack import NAMES as STACK
from .statements import Statements
from .values import INDEX, Storage, Value, constant, dtype_of, width_of

PACKED_FUNC = 1
"""The calling convention that MakePackedAPI gives a PrimFunc."""

PARAMETERS = 4
"""Of such a PrimFunc: itself, the array of arguments, their number, the result."""

HANDLE = "handle"
"""In place of a dtype: the value is an array, a list of numbers, or None."""

_OTHERWISE = ("round",)
"""Intrinsics that LLVM and TensorIR define differently: LLVM rounds halves away from zero."""

DATA, CODE, WIDTH, LANES, ITEM = 1, 5, 6, 7, 15
"""Fields of arguments; see `_FIELDS`."""

FIELD, LLVM = "tirx.tvm_struct_get", "tirx.call_llvm_pure_intrin"


def is_packed(func: tirx.PrimFunc) -> bool:
    """MakePackedAPI has run on it."""
    return bool(attr(func, "calling_conv") == PACKED_FUNC)


def arguments(func: tirx.PrimFunc) -> list[bool]:
    """For each argument, whether it is a tensor.

    Raises:
        Unsupported: it has other parameters than those of the packed API.
    """
    args = _array(func)
    reads = [
        call
        for call in nodes(func, tvm.ir.Call)
        if getattr(call.op, "name", "") == FIELD and call.args[0].same_as(args)
    ]
    tensors = {int(call.args[1].value) for call in reads if _is_handle(call)}
    count = max((int(call.args[1].value) + 1 for call in reads), default=0)
    return [place in tensors for place in range(count)]


def parameters(func: tirx.PrimFunc) -> list[tirx.Var]:
    """The parameters of the PrimFunc before, as this one reads them: numbers are bound to
    variables, tensors are declared as buffers. If bfloat16 or float8 is stored as integers, the
    assertions still name the dtype of the argument.

    Raises:
        Unsupported: one of them is not read like that.
    """
    handles = _bound(func, handles=True)
    found = {place: var for var, place in _bound(func, handles=False).items()}
    dtypes = {handles[handle]: dtype for handle, dtype in _asserted(func) if handle in handles}
    for place, buffer in _declared(func):
        dtype = dtypes.get(place) or str(buffer.ty.dtype)
        found[place] = tirx.decl_buffer(buffer.ty.shape, dtype, str(buffer.name))
    missing = [place for place in range(len(arguments(func))) if place not in found]
    if missing:
        raise Unsupported(f"arguments {missing} behind the packed API, which nothing reads")
    return [found[place] for place in sorted(found)]


def _array(func: tirx.PrimFunc) -> tirx.Var:
    """The array of arguments."""
    if len(func.params) != PARAMETERS:
        raise Unsupported(f"{len(func.params)} parameters of a function of the packed API")
    found: tirx.Var = func.params[1]
    return found


def _bound(func: tirx.PrimFunc, *, handles: bool) -> dict[tirx.Var, int]:
    """The variables that arguments are bound to, handles or numbers, with the places of these."""
    args = _array(func)
    return {
        bind.var: int(read.args[1].value)
        for bind in nodes(func, ir.Bind)
        for read in _reads(bind.value, ITEM)
        if read.args[0].same_as(args) and _is_handle(read) == handles
    }


def _declared(func: tirx.PrimFunc) -> Iterator[tuple[int, tirx.Buffer]]:
    """The buffers that arguments are declared as, with the places of these."""
    handles = _bound(func, handles=True)
    for declared in nodes(func, ir.DeclBuffer):
        for read in _reads(declared.data, DATA):
            if read.args[0] in handles:
                yield handles[read.args[0]], declared.buffer


def _reads(expr: Any, field: int) -> list[Any]:
    """The reads of a field of arguments in an expression."""
    return [
        call
        for call in nodes(expr, tvm.ir.Call)
        if getattr(call.op, "name", "") == FIELD and int(call.args[2].value) == field
    ]


def _asserted(func: tirx.PrimFunc) -> Iterator[tuple[tirx.Var, str]]:
    """The dtypes that the data of handles must have."""
    for stmt in nodes(func, ir.AssertStmt):
        numbers: dict[int, int] = {}
        for equal in nodes(stmt.condition, ir.EQ):
            for read, number in ((equal.a, equal.b), (equal.b, equal.a)):
                if getattr(getattr(read, "op", None), "name", "") == FIELD:
                    numbers[int(read.args[2].value)] = int(getattr(number, "value", -1))
                    handle = read.args[0]
        if numbers.keys() == {CODE, WIDTH, LANES}:
            triple = numbers[CODE], numbers[WIDTH], numbers[LANES]
            yield handle, str(tvm_ffi.dtype.from_dlpack_data_type(triple))


class Packed(Statements):
    """Writes the text of a PrimFunc behind the packed API, in the order of its statements."""

    def function(self, func: tirx.PrimFunc) -> str:
        names = ("None", "args", "len(args)", "None")
        for param, text in zip(func.params, names, strict=True):
            count = text.startswith("len")
            self.vars[param.__chandle__()] = (
                Value(text, "int32", weak=True) if count else Value(text, HANDLE)
            )
        widths = {place: width_of(buffer.ty.dtype) for place, buffer in _declared(func)}
        if vectors := {place: width for place, width in widths.items() if width > 1}:
            self.emit(f"args = of_vectors(args, {vectors})")
        self.statement(func.body)
        return "\n".join(["def program(left, *args):", *self.lines, ""])

    def call(self, expr: Any) -> Value:
        name = getattr(expr.op, "name", "")
        if name == FIELD:
            return self._field(expr)
        if name == "tirx.isnullptr":
            return Value(f"({self.value(expr.args[0]).text} is None)", "bool")
        if name == "tirx.handle_add_byte_offset":
            return Value(f"moved({self.value(expr.args[0]).text})", HANDLE)
        if name == "tirx.reinterpret" and _is_handle(expr):
            return self._handle(expr.args[0])
        if name == "tirx.tvm_stack_alloca":
            kind, count = str(expr.args[0].value), int(expr.args[1].value)
            return Value(f"on_stack({kind!r}, {count})", HANDLE)
        if name == "tirx.address_of":
            return self._address(expr.args[0])
        if name == "tirx.buffer_data":
            return Value(self.storage(expr.args[0]).name, HANDLE)
        if name == "tirx.TVMBackendAllocWorkspace":
            return Value(f"alloc(({self.value(expr.args[2]).text},), uint8)", HANDLE)
        if name == "tirx.TVMBackendFreeWorkspace":
            return constant(0, "int32")
        if name == LLVM:
            return self._llvm(*expr.args)
        return super().call(expr)

    def _handle(self, expr: Any) -> Value:
        """What is no address in TensorIR: a text, the null pointer."""
        if isinstance(expr, ir.StringImm):
            return Value(repr(str(expr.value)), HANDLE)
        value = self.value(expr)
        return Value("None", HANDLE) if value.text == "0" else value

    def _address(self, load: Any) -> Value:
        """Where an element lies: what follows it in its row."""
        storage = self.storage(ir.tensor_of(load))
        if len(load.indices) != 1:
            raise Unsupported(f"address in {storage.node.name}")
        (index,) = self.indices(storage, load.indices)
        return Value(f"{storage.name}[{index.text}:]", HANDLE)

    def _set(self, base: Any, index: Any, field: Any, value: Any) -> None:
        """One field of what is on the stack."""
        given = self.value(value).text
        self.emit(f"set_field({self.value(base).text}, {index}, {field}, {given})")

    def _call_packed(self, name: Any, stack: Any, begin: Any, end: Any) -> None:
        """A call with the arguments that are on the stack."""
        if (short := str(name.value)) not in PACKED:
            raise Unsupported(f"function {short}")
        function, _ = PACKED[short]
        given = f"given({self.value(stack).text}, {begin}, {end})"
        self.emit(f"packed_{function.__name__}(*{given})")

    def _field(self, expr: Any) -> Value:
        """One field of an argument, or one number of a shape."""
        base, index, kind = expr.args
        handle, place, field = self.value(base).text, int(index.value), int(kind.value)
        if field not in _FIELDS:
            raise Unsupported(f"field {field} of an argument")
        text = f"{_FIELDS[field]}({handle}, {place})"
        if _is_handle(expr):
            return Value(text, HANDLE)
        dtype = dtype_of(expr.ty)
        if dtype in INDEX:
            return Value(f"int({text})", dtype, weak=True)
        return Value(f"{dtype}({text})", dtype)

    def _llvm(self, name: Any, *operands: Any) -> Value:
        """An intrinsic of LLVM that computes what the one of TensorIR with its name does."""
        long = str(llvm_get_intrinsic_name(int(name.value)))
        short = long.removeprefix("llvm.")
        values = [self.value(operand) for operand in operands]
        lanes = any(value.lanes for value in values)
        if short == "fmuladd":
            a, b, c = map(self.exact, values)
            return Value(f"({a} * {b} + {c})", values[0].dtype, lanes=lanes)
        if short not in (UNARY if len(values) == 1 else BINARY) or short in _OTHERWISE:
            raise Unsupported(f"intrinsic {long}")
        texts = ", ".join(map(self.exact, values))
        return Value(f"{short}({texts})", values[0].dtype, lanes=lanes)

    def evaluate(self, stmt: Any) -> None:
        match getattr(getattr(stmt.value, "op", None), "name", ""):
            case "tirx.tvm_throw_last_error":
                self.emit("failed('the runtime reports an error')")
            case "tirx.tvm_struct_set":
                self._set(*stmt.value.args)
            case "tirx.tvm_call_packed_lowered":
                self._call_packed(*stmt.value.args)
            case _:
                super().evaluate(stmt)

    def pointed(self, data: Any) -> Storage:
        # `begin` counts in the whole buffer, for a view of one element as well.
        name = getattr(getattr(data, "op", None), "name", "")
        if name in ("tirx.buffer_data", "tirx.address_of"):
            return super().pointed(data)
        value = self.value(data)
        if value.dtype != HANDLE:
            raise Unsupported(f"address {data}")
        return Storage(value.text, HANDLE, (), data)


def _is_handle(expr: Any) -> bool:
    return isinstance(expr.ty, tvm.ir.PointerType) or str(expr.ty.dtype) == HANDLE


# What generated programs see


def _item(values: Any, place: int) -> Any:
    if values is None or not 0 <= place < len(values):
        raise Undefined(f"a read of number {place} of the arguments, a shape or strides")
    return values[place]


def _type_index(args: Any, place: int) -> int:
    """tvm/ffi/c_api.h, TVMFFITypeIndex."""
    value = _item(args, place)
    if isinstance(value, np.ndarray | Vectors):
        return 7  # DLTensor *
    if isinstance(value, bool | np.bool_):
        return 2
    return 1 if isinstance(value, numbers.Integral) else 3


@dataclass(frozen=True, slots=True)
class Vectors:
    """A tensor whose elements are vectors: their scalars are the last axis of an array."""

    array: np.ndarray[Any, Any]
    width: int


def of_vectors(args: Sequence[Any], widths: Mapping[int, int]) -> list[Any]:
    """The arguments, of which those at these places have vectors of so many scalars."""
    found = list(args)
    for place, width in widths.items():
        array = found[place]
        if isinstance(array, np.ndarray) and array.shape[-1:] == (width,):
            found[place] = Vectors(array, width)
    return found


def _tensor(handle: Any) -> Any:
    if isinstance(handle, Vectors):
        return handle.array
    if not isinstance(handle, np.ndarray):
        raise Undefined("a number is read as a tensor")
    return handle


def _shape(handle: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = _tensor(handle).shape
    return shape[:-1] if isinstance(handle, Vectors) else shape


def _strides(handle: Any, place: int) -> tuple[int, ...]:
    """In elements, as TVM's runtime has them: NumPy's of an empty array are 0."""
    shape = _shape(handle)
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _dtype(handle: Any) -> tvm_ffi.dtype:
    return tvm_ffi.dtype(str(_tensor(handle).dtype))


def _lanes(handle: Any) -> int:
    return handle.width if isinstance(handle, Vectors) else 1


def moved(handle: Any) -> Any:
    """An address further on: where a `DLTensor` lies in an object, of which there is none here."""
    raise Unsupported("an address inside of an argument")


_FIELDS: Mapping[int, str] = {
    ADDRESS: "record_of",
    DATA: "data_of",
    2: "shape_of",
    3: "strides_of",
    4: "rank_of",
    CODE: "code_of",
    WIDTH: "bits_of",
    LANES: "lanes_of",
    8: "begin_of",
    9: "device_of",
    10: "device_type_of",
    13: "type_index_of",
    ITEM: "item_of",
    17: "item_of",
}
"""tvm/tirx/builtin.h, TVMStructFieldKind."""

NAMES: Mapping[str, Any] = {
    **STACK,
    "of_vectors": of_vectors,
    "moved": moved,
    "item_of": _item,
    "type_index_of": _type_index,
    "data_of": lambda handle, place: _tensor(handle),
    "shape_of": lambda handle, place: _shape(handle),
    "strides_of": _strides,
    "rank_of": lambda handle, place: len(_shape(handle)),
    "code_of": lambda handle, place: _dtype(handle).type_code,
    "bits_of": lambda handle, place: _dtype(handle).bits,
    "lanes_of": lambda handle, place: _lanes(handle),
    "begin_of": lambda handle, place: 0,
    "device_of": lambda handle, place: 0,
    "device_type_of": lambda handle, place: tvm_ffi.DLDeviceType.kDLCPU,
}

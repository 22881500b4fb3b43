"""The classes of IR nodes that move between versions of TVM, and their renamed fields.

Classes have the names of the newest TVM here. A class that this TVM lacks under every known name is
a stand-in without instances: `isinstance` is false for it, and calling it raises `Drift`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import types
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import tvm
import tvm.s_tir
import tvm_ffi
from tvm_ffi.dataclasses import py_class

from .drift import Drift

HOMES = (
    *("tvm.ir", "tvm.ir.prim", "tvm.tirx", "tvm.tirx.expr", "tvm.tirx.stmt", "tvm.s_tir"),
    *("tvm.relax", "tvm.relax.expr", "tvm.sym", "tvm.arith"),
)
"""The modules in which TVM keeps such classes; the first that has the name wins."""

MISSING: dict[str, str] = {}
"""The classes that this TVM lacks, with a sentence each."""


class _Missing(type(tvm_ffi.Object)):  # type: ignore[misc]
    """The class of stand-ins: any use of one raises `Drift`."""

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Drift(_lacks(cls.__name__))

    def __call__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise Drift(_lacks(cls.__name__))


def _lacks(name: str) -> str:
    return f"this TVM has no IR node {name}"


def node(*names: str) -> Any:
    """The class with one of these names, newest first, wherever this TVM keeps it."""
    for home in _homes():
        for name in names:
            if isinstance(found := getattr(home, name, None), type):
                return found
    MISSING[names[0]] = _lacks(names[0])
    stand_in = _Missing(names[0], (tvm_ffi.Object,), {})
    # Only a registered class may be given to `structural_walk` and its like.
    return py_class(f"{__name__}.{names[0]}")(stand_in)


@functools.cache
def _homes() -> list[types.ModuleType]:
    found = []
    for home in HOMES:
        with contextlib.suppress(ImportError):
            found.append(importlib.import_module(home))
    return found


# Values of Relax and of modules.
GenericConst = node("GenericConst", "Constant")
StringImm = node("StringImm")
VDevice = node("VDevice")
Analyzer = node("Analyzer")

# Primitive expressions.
Add, Sub, Mul = node("Add"), node("Sub"), node("Mul")
Div, Mod, FloorDiv, FloorMod = node("Div"), node("Mod"), node("FloorDiv"), node("FloorMod")
Min, Max = node("Min"), node("Max")
EQ, NE, LT, LE, GT, GE = (node(name) for name in ("EQ", "NE", "LT", "LE", "GT", "GE"))
And, Or, Not = node("And"), node("Or"), node("Not")
BitwiseAnd, BitwiseOr, BitwiseXor = node("BitwiseAnd"), node("BitwiseOr"), node("BitwiseXor")
BitwiseNot, LShift, RShift = node("BitwiseNot"), node("LShift"), node("RShift")
Select, Cast, Let = node("Select"), node("Cast"), node("Let")
Ramp, Broadcast = node("Ramp"), node("Broadcast")
BinaryOpExpr, CmpExpr, LogicalExpr = node("BinaryOpExpr"), node("CmpExpr"), node("LogicalExpr")
TensorLoad = node("TensorLoad", "BufferLoad")
TensorRegion = node("TensorRegion", "BufferRegion")

# Statements.
For, ForKind, While = node("For"), node("ForKind"), node("While")
Break, Continue, Return = node("Break"), node("Continue"), node("Return")
SeqStmt, IfThenElse, Bind = node("SeqStmt"), node("IfThenElse"), node("Bind")
Evaluate, BufferStore = node("Evaluate"), node("BufferStore")
AllocBuffer, DeclBuffer = node("AllocBuffer"), node("DeclBuffer")
AttrStmt, AssertStmt = node("AttrStmt"), node("AssertStmt")
SBlock, SBlockRealize = node("SBlock"), node("SBlockRealize")

BITWISE = {
    "bitwise_and": BitwiseAnd,
    "bitwise_or": BitwiseOr,
    "bitwise_xor": BitwiseXor,
    "bitwise_not": BitwiseNot,
    "shift_left": LShift,
    "shift_right": RShift,
}
"""The node for each intrinsic by which some versions of TVM express a bitwise operation."""

_N = tvm.tirx.Var("n", "int32")
if isinstance(tvm.tirx.shift_left(_N, _N), tvm.ir.Call):  # with intrinsics, nothing is missing
    for _node in BITWISE.values():
        MISSING.pop(_node.__name__, None)


class Operands(NamedTuple):
    """The operands of a call, under the names that they have as fields of a node."""

    a: Any
    b: Any
    ty: Any


CONSTANTS = (GenericConst, node("DataTypeImm", "GenericConst"))
"""The classes of constant tensors and of constant dtypes, which are one in some versions."""

_DTYPE = CONSTANTS[-1]


def dtype_constant(dtype: tvm_ffi.dtype) -> Any:
    """The expression whose value is a dtype: an argument of `vm.alloc_tensor` and its like."""
    return _DTYPE(dtype, tvm.relax.AnyType()) if _DTYPE is GenericConst else _DTYPE(dtype)


STRINGS = tuple(
    {cls for home in _homes() if isinstance(cls := getattr(home, "StringImm", None), type)}
)
"""The classes of string constants: Relax and TensorIR may have one each."""


def constant_data(const: Any) -> tvm.runtime.Tensor:
    """The value of a `GenericConst`."""
    return const.value if hasattr(const, "value") else const.data


def with_fields(node: Any, /, **changes: Any) -> Any:
    """A node of the same class with other fields, which TVM does not check."""
    info = type(node).__tvm_ffi_type_info__
    fields = {name: getattr(node, name) for name in _fields(info)}
    return tvm.ir.make_node(info.type_key, **{**fields, **changes})


def _fields(info: Any) -> Iterator[str]:
    """The names of the fields of a class, including those of its base classes."""
    while info is not None:
        yield from (field.name for field in info.fields)
        info = info.parent_type_info


def tensor_of(access: Any) -> tvm.ir.Var:
    """The buffer that a `TensorLoad` or `TensorRegion` accesses."""
    return access.source if hasattr(access, "source") else access.buffer


def tensor_load(buffer: Any, indices: Any) -> Any:
    """A `TensorLoad` of a buffer."""
    return tvm.tirx.BufferLoad(buffer, indices)


def tensor_region(buffer: Any, region: Any) -> Any:
    """A `TensorRegion` of a buffer."""
    return tvm.tirx.BufferRegion(buffer, region)


_verify_well_formed = (
    tvm.s_tir.analysis if hasattr(tvm.s_tir.analysis, "verify_well_formed") else tvm.tirx.analysis
).verify_well_formed


def tensor_ir_complaint(mod: tvm.IRModule) -> Exception | None:
    """The exception of TensorIR's own checker; None: the module is well-formed.

    Asked for a bool (`assert_mode=False`), it dies of a variable that is
    defined again inside of its own scope: `UndefinedVarVerifier::ExitDef`, in
    src/tirx/analysis/verify_well_formed.cc, then erases what is gone.
    """
    try:
        _verify_well_formed(mod)
    except Exception as error:
        return error
    return None


def spelling(cls: type) -> str:
    """The name of a class of this TVM in a text that imports only `tvm` and `relax`."""
    name = cls.__name__
    return f"relax.{name}" if getattr(tvm.relax, name, None) is cls else f"tvm.ir.{name}"

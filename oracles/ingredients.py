"""Ingredients: the operators and kinds of nodes that a module is made of.

Names, numbers, dtypes, ranks and the order of bindings are not ingredients. A bug needs all
ingredients of its minimized module.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar, Op

from ..compat import ir
from ..generators.ops import table
from ..generators.ops.roles import PLAIN, PLAINEST
from ..generators.rewrite.defaults import unusual
from ..generators.traits import Trait
from .identity import NO_TENSOR, OPEN_DTYPE, OPEN_SHAPE
from .inspect import has_recursive_local, nodes, op_name, relax_functions
from .keys import computes

_RELAX = "relax."

SUBSTITUTES = frozenset({PLAINEST, *PLAIN})
"""Operators that the minimizer inserts as arbitrary values."""

ELEMENTWISE = frozenset(
    f"{_RELAX}{name}"
    for name, op in table.items()
    if op.elementwise and computes(f"{_RELAX}{name}")
)
"""Operators that share their code in TVM, so which one occurs is accidental."""

INTERCHANGEABLE = ELEMENTWISE | {
    f"{_RELAX}{name}" for name, op in table.items() if op.interchangeable
}
"""Operators that are elementwise, fill a tensor or make a shape; which one occurs is accidental."""

_BY_OTHER_MEANS = frozenset({"alias", relax.ShapeExpr.__name__})
"""Kinds of bindings that others can replace: an alias, another way to a shape."""


def _families() -> Iterator[tuple[str, str]]:
    first: dict[Any, str] = {}
    for name, op in table.items():
        build: Any = op.build
        while isinstance(build, functools.partial):
            build = build.func
        operator = _RELAX + name
        code = getattr(build, "__code__", build)
        shared = getattr(build, "__name__", "") != "<lambda>"
        if shared and operator not in INTERCHANGEABLE:
            yield operator, first.setdefault(code, operator)


FAMILY: Mapping[str, str] = dict(_families())
"""The representative of each operator's family. The members differ in the rank, as convolutions do,
or in a function passed to TVM's code, as poolings and scans do. Their calls come from the same code
in the table of operators."""


def of_family(name: str) -> str:
    """The representative of the operator's family."""
    return FAMILY.get(name, name)


ON_DEVICE = "tensor on a device"

FITTED = frozenset({"axis", "axes", "dtype"})
"""Attributes that must fit the shapes of operands or the type of the result."""


def ingredients(mod: tvm.IRModule) -> frozenset[str]:
    """The ingredients of a module; computing them takes as long as a fast pass."""
    functions = dict(relax_functions(mod))
    found: set[str] = set()
    if any(isinstance(func, relax.ExternFunc) for func in mod.functions.values()):
        found.add(relax.ExternFunc.__name__)
    for func in functions.values():
        found.update(_of_function(func, functions))
    if not functions:
        found.update(part for func in mod.functions.values() for part in _tensorir(func))
    return frozenset(found)


def _of_function(func: relax.Function, functions: Mapping[Any, Any]) -> Iterator[str]:
    seen: dict[type[Any], list[Any]] = {kind: [] for kind in _KINDS}
    tvm_ffi.structural_walk(func, [(kind, seen[kind].append) for kind in _KINDS])
    if seen[relax.If]:
        yield relax.If.__name__
    if len(seen[relax.ExternFunc]) > sum(op_name(call) == PLAINEST for call in seen[relax.Call]):
        yield relax.ExternFunc.__name__
    if len(seen[relax.Function]) > 1:
        yield "local function"
        if has_recursive_local(func):
            yield "recursive local function"
    types: list[Any] = []
    for each in seen[relax.Function]:
        if each.attrs is not None:
            yield from (
                f"attribute {key}" for key, _ in each.attrs.items() if key != "global_symbol"
            )
        types.extend(param.ty for param in each.params)
    for call in seen[relax.Call]:
        yield from _of_call(call, functions)
    for binding in seen[relax.expr.Binding]:
        types.append(binding.var.ty)
        yield from (kind for kind in of_binding(binding) if kind not in _BY_OTHER_MEANS)
    for ty in types:
        yield from _of_type(ty)


def _of_call(call: relax.Call, functions: Mapping[Any, Any]) -> Iterator[str]:
    if isinstance(call.op, Op):
        name = str(call.op.name)
        if name.startswith(_RELAX) and name not in SUBSTITUTES:
            name = of_family(name)
            yield name
            op = table.get(name.removeprefix(_RELAX))
            if op is not None and op.needs is Trait.VDEVICES:
                yield ON_DEVICE
            yield from (f"{name} {attr}" for attr in unusual(call) if attr not in FITTED)
    else:
        yield kind_of_call(call.op, functions)


def kind_of_call(callee: Any, functions: Mapping[Any, Any]) -> str:
    """The kind of a call to anything other than an operator.

    Args:
        functions: the Relax functions of the module, by GlobalVar.
    """
    if isinstance(callee, GlobalVar):
        return "call of a function" if callee in functions else "call of a PrimFunc"
    return "call of a variable" if isinstance(callee, relax.Var) else "call of an expression"


def of_binding(binding: Any) -> Iterator[str]:
    """The kind of a binding, or of a bound value that is not a call."""
    if isinstance(binding, relax.MatchCast):
        yield "MatchCast"
    elif isinstance(binding.value, relax.Var):
        yield "alias"
    elif isinstance(binding.value, relax.Tuple | relax.TupleGetItem | GlobalVar | relax.ShapeExpr):
        yield type(binding.value).__name__


def _of_type(ty: Any) -> Iterator[str]:
    if isinstance(ty, relax.TupleType):
        for field in ty.fields:
            yield from _of_type(field)
        return
    if isinstance(ty, relax.TensorType):
        if ty.dtype is None:
            yield OPEN_DTYPE
        if ty.vdevice is not None:
            yield ON_DEVICE
    else:
        yield NO_TENSOR
    if _is_open(ty):
        yield OPEN_SHAPE


def _is_open(ty: Any) -> bool:
    if isinstance(ty, relax.TensorType):
        dims = ty.shape if isinstance(ty.shape, relax.ShapeExpr) else None
    elif isinstance(ty, relax.ShapeType):
        dims = ty.values
    else:
        return False
    return dims is None or not all(isinstance(dim, tirx.IntImm) for dim in dims)


_KINDS: tuple[type[Any], ...] = (
    *(relax.Function, relax.Call, relax.expr.Binding, relax.If, relax.ExternFunc),
)
"""Kinds of nodes; a node counts as the first kind that it matches."""


def _tensorir(func: Any) -> Iterator[str]:
    """Kinds of statements, loops and expressions of a PrimFunc."""
    if not isinstance(func, tirx.PrimFunc):
        return
    for node in nodes(func.body, tirx.Stmt, tvm.ir.Expr):
        name = op_name(node)
        if name is not None:
            yield name
        elif isinstance(node, ir.For):
            yield from _of_loop(node)
        elif (kind := type(node).__name__) not in _LEAVES:
            yield _BINDINGS.get(kind, kind)
        if isinstance(node, ir.IfThenElse) and node.else_case is not None:
            yield "else"


def _of_loop(loop: Any) -> Iterator[str]:
    if loop.kind != ir.ForKind.SERIAL:
        yield f"loop {ir.ForKind(loop.kind).name.lower()}"
    if loop.step is not None:
        yield "step"
    if getattr(loop.min, "value", 1) != 0:
        yield "loop not from 0"


_BINDINGS = {"Let": "Bind"}
"""An expression and a statement that bind a variable to a value; passes treat both alike."""

_LEAVES = frozenset(
    [
        "IntImm",
        "FloatImm",
        "Var",
        "SBlockRealize",
        "SBlock",
        "SeqStmt",
        "BufferStore",
        "BufferLoad",
        "BufferRegion",
        "TensorLoad",
        "TensorRegion",
        "Evaluate",
    ]
)
"""Kinds of nodes that nearly every PrimFunc has, under their names in all versions of TVM."""

"""Functions of TVM's interface given arguments of other types: each is refused with an error.

What a function takes is what TVM itself says of it. One argument has another type, or there is one
more or one less.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax import dpl

FUNCTIONS = "relax."
"""The functions whose names begin so: constructors of nodes, calls and passes, analyses."""

_TENSOR = 'relax.TensorType((2, 3), "float32")'
_VAR = f'relax.Var("x", {_TENSOR})'
_BINDING = f"relax.VarBinding({_VAR}, {_VAR})"
_FUNCTION = (
    "relax.Function([], relax.SeqExpr([], relax.ShapeExpr([2])), relax.ShapeType([2]), True)"
)

VALUES: Mapping[str, str] = MappingProxyType(
    {
        "ir.Expr": _VAR,
        "ir.Var": _VAR,
        "ir.Tuple": f"relax.Tuple([{_VAR}])",
        "ir.Call": f"relax.op.add({_VAR}, {_VAR})",
        "ir.GlobalVar": 'relax.GlobalVar("f")',
        "ir.GenericConst": 'relax.const(1, "float32")',
        "ir.IntImm": 'tvm.tirx.IntImm("int64", 1)',
        "ir.FloatImm": 'tvm.tirx.FloatImm("float32", 0.5)',
        "relax.expr.Function": _FUNCTION,
        "ir.BaseFunc": _FUNCTION,
        "relax.expr.Binding": _BINDING,
        "relax.expr.BindingBlock": f"relax.BindingBlock([{_BINDING}])",
        "relax.expr.DataflowBlock": f"relax.DataflowBlock([{_BINDING}])",
        "ir.Type": _TENSOR,
        "relax.TensorType": _TENSOR,
        "ir.IRModule": "tvm.IRModule()",
        "relax.BlockBuilder": "relax.BlockBuilder()",
        "relax.ExecBuilder": "relax.ExecBuilder()",
        "relax.dpl.DFPattern": "dpl.wildcard()",
        "relax.dpl.PatternContext": "dpl.PatternContext()",
        "relax.dpl.PatternSeq": "dpl.wildcard().used_by(dpl.wildcard())",
        "ffi.Function": "lambda *values: values[0]",
        "ffi.String": '"float32"',
        "std::string": '"float32"',
        "DataType": '"float32"',
        "int": "1",
        "bool": "True",
        "float": "0.5",
        "ffi.Map": "{}",
        "ir.Span": "None",
        "Optional": "None",
    }
)
"""Python that makes a value, by the type that TVM names."""

OTHERS = tuple(sorted({*VALUES.values(), "-1", '""', "[]", "[1]", '["a"]'} - {"None"}))
"""What is put in place of an argument. Not None: TVM says of few arguments that they may not be."""


@dataclass(frozen=True, slots=True)
class Misuse:
    """A function and its arguments, as Python."""

    function: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        """The call, of `tvm`, `relax` and `dpl`."""
        return f"tvm.get_global_func({self.function!r})({', '.join(self.arguments)})"

    def call(self) -> None:
        """Call the function.

        Raises:
            Exception: it refuses its arguments.
        """
        eval(self.text, {"tvm": tvm, "relax": relax, "dpl": dpl})


def some(most: int, chance: random.Random) -> Iterator[Misuse]:
    """So many wrong calls of random functions."""
    functions = list(_signatures().items())
    for name, types in chance.choices(functions, k=most):
        arguments = [value for each in types if (value := _fitting(each)) is not None]
        at = chance.randrange(len(types) + 1)
        if at < len(types):
            arguments[at] = chance.choice([each for each in OTHERS if each != arguments[at]])
        elif chance.random() < 0.5:
            arguments.append(chance.choice(OTHERS))
        else:
            arguments.pop()
        yield Misuse(name, tuple(arguments))


@functools.cache
def _signatures() -> Mapping[str, tuple[Any, ...]]:
    """The types that functions say they take; left out are those that say nothing or take nothing,
    and those for which there is no right argument.
    """
    found = {}
    for name in sorted(map(str, tvm_ffi.registry.list_global_func_names())):
        if name.startswith(FUNCTIONS):
            said = tvm_ffi.registry.get_global_func_metadata(name).get("type_schema", "{}")
            _, *types = json.loads(said).get("args", [None])
            if types and None not in map(_fitting, types):
                found[name] = tuple(types)
    return MappingProxyType(found)


def _fitting(schema: Any) -> str | None:
    """A value of the type; None: no value is known."""
    kind, inner = schema["type"], schema.get("args", ())
    if kind == "ffi.Array" and inner:
        first = _fitting(inner[0])
        return None if first is None else f"[{first}]"
    return _fitting(inner[0]) if kind == "Variant" else VALUES.get(kind)

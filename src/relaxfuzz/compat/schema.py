"""The type keys and fields of nodes in TVM JSON, under the names that the newest TVM gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max")
_LOGIC = ("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or", "Not", "Select")
_PRIMITIVE = (*_ARITHMETIC, *_LOGIC, "Cast", "Let", "Ramp", "Broadcast", "Shuffle")

CURRENT_KEYS: Mapping[str, str] = {
    "ir.VDevice": "relax.VDevice",
    "relax.expr.Constant": "ir.GenericConst",
    "relax.expr.DataTypeImm": "ir.GenericConst",
    "relax.expr.StringImm": "ir.StringImm",
    "relax.expr.Tuple": "ir.Tuple",
    "relax.expr.TupleGetItem": "ir.TupleGetItem",
    "tirx.BufferLoad": "ir.TensorLoad",
    "tirx.BufferRegion": "ir.TensorRegion",
    "tirx.MatchBufferRegion": "s_tir.MatchBufferRegion",
    "tirx.SBlock": "s_tir.SBlock",
    "tirx.SBlockRealize": "s_tir.SBlockRealize",
    **{f"tirx.{name}": f"prim.{name}" for name in _PRIMITIVE},
}
"""The newest type keys of nodes that have other type keys in older versions."""

_CURRENT_FIELDS: Mapping[str, Mapping[str, str]] = {
    "relax.expr.Constant": {"data": "value"},
    "tirx.BufferLoad": {"buffer": "source"},
    "tirx.BufferRegion": {"buffer": "source"},
}


def current_class(type_key: str) -> str:
    """The name of a node's class in the newest TVM."""
    return CURRENT_KEYS.get(type_key, type_key).rpartition(".")[2]


def current_fields(type_key: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a node of this TVM, under their newest names."""
    names = _CURRENT_FIELDS.get(type_key, {})
    return {names.get(name, name): value for name, value in fields.items()}

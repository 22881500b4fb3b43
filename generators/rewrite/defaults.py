"""Attributes of calls, and the defaults of the functions in `relax.op` that make the calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Op


def unusual(call: relax.Call) -> list[str]:
    """The attributes that differ from their defaults, as far as they can be set."""
    if not isinstance(call.op, Op) or call.attrs is None:
        return []
    default = defaults(str(call.op.name))
    return [
        name
        for name, optional in fields(call.attrs).items()
        if name in default
        and not _same(getattr(call.attrs, name), default[name])
        # A default of None that the function itself replaces cannot be set.
        and (default[name] is not None or optional)
    ]


def fields(attrs: Any) -> dict[str, bool]:
    """The names of attributes, each mapped to True if the attribute may be None."""
    found = type(attrs).__tvm_ffi_type_info__.fields
    return {field.name: "Optional" in field.metadata["type_schema"] for field in found}


@functools.cache
def defaults(op: str) -> Mapping[str, Any]:
    """The defaults of the function of this name in `relax.op`; empty if it does not exist."""
    function: Any = relax.op
    for part in op.removeprefix("relax.").split("."):
        function = getattr(function, part, None)
    if not inspect.isfunction(function):
        return {}
    parameters = inspect.signature(function).parameters
    return {name: p.default for name, p in parameters.items() if p.default is not p.empty}


def spread(default: Any, size: int) -> list[Any]:
    """A default with `size` entries: 1 stands for (1, 1), and (0, 0) for (0, 0, 0, 0)."""
    entries = list(default) if isinstance(default, tuple | list) else [default]
    return entries if len(entries) == size or not entries else entries[:1] * size


def _same(value: Any, default: Any) -> bool:
    if value is None or default is None:
        return value is default
    if isinstance(value, tvm_ffi.Array):
        return len(value) > 0 and all(map(_same, value, spread(default, len(value))))
    if isinstance(value, tirx.IntImm | tirx.FloatImm):
        value = value.value
    return bool(str(value) == str(default))

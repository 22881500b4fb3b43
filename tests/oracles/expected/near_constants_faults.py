"""Rules for integers that are wrong for few numbers only, and the same rules without a fault."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def limit(n: T.int32, out: T.Buffer((1,), "int32")):
        if T.max(n, 4711) == 4711:
            out[0] = 1
        else:
            out[0] = 2

    @T.prim_func
    def pair(n: T.int32, m: T.int32, out: T.Buffer((1,), "int32")):
        if n <= m + 300 or n >= m + 302:
            out[0] = 1
        else:
            out[0] = 2

    @T.prim_func
    def quotient(n: T.int32, out: T.Buffer((1,), "int32")):
        if T.floordiv(n, 360) == 7:
            out[0] = 1
        else:
            out[0] = 2

    @T.prim_func
    def residue(n: T.int32, out: T.Buffer((1,), "int32")):
        if T.floormod(n + 17, 1021) == 1020:
            out[0] = 1
        else:
            out[0] = 2

    @T.prim_func
    def size(a: T.handle, b: T.handle):
        n = T.int64()
        x = T.match_buffer(a, (n,), "float32")
        out = T.match_buffer(b, (n,), "float32")
        for i in range(T.min(n, T.int64(24))):
            out[i] = x[i] * T.float32(2)

    @T.prim_func
    def wrapping(n: T.uint32, out: T.Buffer((1,), "int32")):
        if n + T.uint32(3) >= T.uint32(3):
            out[0] = 1
        else:
            out[0] = 2


Rule = Callable[[Any], Any]
"""Gives an expression in place of an expression of one class."""


@dataclass(frozen=True)
class Fault:
    kind: type
    """The class of the expressions that both rules change."""
    wrong: Rule
    right: Rule


TRUE, FALSE = tirx.const(True, "bool"), tirx.const(False, "bool")

FAULTS: Mapping[str, Fault] = {
    "limit": Fault(tirx.EQ, lambda e: e.a.a < e.b, lambda e: e.a.a <= e.b),
    "pair": Fault(tirx.Or, lambda e: TRUE, lambda e: tirx.Or(e.b, e.a)),
    "quotient": Fault(
        tirx.EQ,
        lambda e: tirx.all(e.a.a >= 2520, e.a.a <= 2880),
        lambda e: tirx.all(e.a.a >= 2520, e.a.a < 2880),
    ),
    "residue": Fault(tirx.EQ, lambda e: FALSE, lambda e: tirx.Not(e.a < e.b)),
    "size": Fault(tirx.Min, lambda e: e.a, lambda e: tirx.Min(e.b, e.a)),
    "wrapping": Fault(tirx.GE, lambda e: TRUE, lambda e: tirx.Not(e.a < e.b)),
}
"""By the name of the function on which the rules act."""


def _made(kind: type, rule: Rule) -> tvm.transform.Pass:
    def transform(func: tirx.PrimFunc, mod: tvm.IRModule, context: Any) -> tirx.PrimFunc:
        return func.with_body(tvm_ffi.structural_map(func.body, [(kind, rule)], order="post"))

    return tirx.transform.prim_func_pass(transform, opt_level=0, name="rule")


# The factories `wrong_limit`, `right_limit` and so on.
for name, fault in FAULTS.items():
    globals()[f"wrong_{name}"] = functools.partial(_made, fault.kind, fault.wrong)
    globals()[f"right_{name}"] = functools.partial(_made, fault.kind, fault.right)

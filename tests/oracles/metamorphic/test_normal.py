"""What a script does not keep has one key for each way in which it does not, and hides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import tvm
from tvm import tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.script import read_script
from relaxfuzz.oracles.metamorphic.scripted import CHANGED, difference

N = tirx.Var("n", "int64")
X = tirx.Var("x", "float32")


def int64(value: int) -> Any:
    return tirx.const(value, "int64")


def call(op: str, *args: Any, dtype: str = "float32") -> Any:
    return tvm.ir.Call(op, args, ret_ty=tvm.ir.PrimType(dtype))


ZERO = call("tirx.floor", tirx.const(0.0, "float32"))
SAME = ir.Min(N, N)


def bound(value: Any) -> Any:
    return ir.Bind(tirx.Var("v", value.ty.dtype), value)


def loop(extent: Any) -> Any:
    i = tirx.Var("i", extent.ty.dtype)
    return ir.For(i, tirx.const(0, i.ty.dtype), extent, ir.ForKind.PARALLEL, bound(i))


def launched(domain: Any, extent: Any, key: str = "thread_extent") -> Any:
    axis = tirx.IterVar(
        tvm.ir.Range.from_min_extent(int64(0), domain), tirx.Var("bx", "int64"), 1, "blockIdx.x"
    )
    return ir.AttrStmt(axis, key, extent, bound(axis.var))


def stored(*indices: Any, shape: Sequence[int] = (1,), layout: Any = "default") -> Any:
    buffer = tirx.decl_buffer(shape, "float32", "A", layout=layout, scope="local")
    return ir.SeqStmt([ir.AllocBuffer(buffer), ir.BufferStore(buffer, X, list(indices))])


def found(*stmts: Any) -> str | None:
    """What the key says of a PrimFunc with these statements."""
    body = ir.SeqStmt(list(stmts)) if len(stmts) > 1 else stmts[0]
    func = tirx.PrimFunc([N, X], body).with_attr("global_symbol", "main")
    mod = tvm.IRModule({"main": func})
    violation = difference(mod, read_script(mod.script(show_meta=True)))
    if violation is None:
        return None
    assert violation.key[0] == CHANGED
    assert violation.key[1] in violation.title
    return violation.key[1]


FOLDED = "arithmetic is folded"
SIMPLIFIED = "the extent of a loop is simplified"
REGION = "the extent of a region is simplified"
DROPPED = "the index of the one element of a buffer is dropped"
FLATTENED = "sequences are flattened"
DOMAIN = "the domain of a thread axis is dropped"


@pytest.mark.parametrize(
    "value",
    [
        SAME,
        ir.Max(int64(1), int64(2)),
        ir.Mod(int64(0), int64(2)),
        call("tirx.fabs", tirx.const(1.0, "float32")),
        ZERO,
        ir.Add(ZERO, X),
        ir.Div(X, call("tirx.floor", tirx.const(1.0, "float32"))),
        ir.Div(N, ir.Min(int64(2), int64(2))),
        ir.LT(ir.Min(int64(0), int64(0)), int64(2)),
        ir.And(ir.LT(N, int64(3)), ir.LT(ir.Min(int64(0), int64(0)), int64(2))),
        ir.Add(ir.Add(int64(0), N), SAME),
        ir.Select(ir.LT(N, int64(3)), SAME, int64(1)),
    ],
    ids=str,
)
def test_arithmetic_that_the_parser_folds_is_one_key_whatever_it_consists_of(value: Any) -> None:
    assert found(bound(value)) == FOLDED


@pytest.mark.parametrize(
    "value",
    [ir.Add(N, int64(0)), ir.FloorMod(int64(4), int64(3)), ir.And(ir.LT(N, N), ir.LT(N, N))],
    ids=str,
)
def test_what_a_script_keeps_is_no_finding(value: Any) -> None:
    assert found(bound(value)) is None


@pytest.mark.parametrize(
    "extent", [ir.Sub(N + 3, N), ir.Mul(int64(2), int64(3)), ir.FloorDiv(N, int64(1))]
)
def test_the_extent_of_a_loop_has_a_key_of_its_own(extent: Any) -> None:
    assert found(loop(extent)) == SIMPLIFIED
    assert found(bound(extent)) is None


def reads(begin: Any, extent: Any) -> str | None:
    """What the key says of a block that reads this region."""
    a = tirx.decl_buffer((8,), "float32", "A", layout=None)
    region = ir.tensor_region(a, [tvm.ir.Range.from_min_extent(begin, extent)])
    block = ir.SBlock([], [region], [], "read", bound(N))
    realize = ir.SBlockRealize([], tirx.const(True, "bool"), block)
    root = ir.SBlock([], [], [], "root", realize)
    body = ir.SBlockRealize([], tirx.const(True, "bool"), root)
    func = tirx.PrimFunc([N, a], body).with_attrs({"global_symbol": "main", "s_tir": True})
    mod = tvm.IRModule({"main": func})
    violation = difference(mod, read_script(mod.script(show_meta=True)))
    return None if violation is None else violation.key[1]


@pytest.mark.parametrize(
    ("begin", "extent"),
    [
        (N, ir.Sub(N + 3, N)),
        (int64(1), ir.Mul(int64(2), int64(3))),
        # TVM's simplification swaps the first two terms each time.
        (
            ir.Min(N - 1, int64(0)),
            ir.Sub(
                ir.Add(ir.Min(N - 1, int64(1)), ir.Max(N, int64(2))),
                ir.Mul(ir.Min(N - 1, int64(0)), int64(2)),
            ),
        ),
    ],
    ids=str,
)
def test_the_extent_of_a_region_has_a_key_of_its_own(begin: Any, extent: Any) -> None:
    assert reads(begin, extent) == REGION
    assert reads(begin, int64(2)) is None


@pytest.mark.parametrize("index", [N, int64(0), ir.Mul(int64(0), int64(3))], ids=str)
def test_a_dropped_index_is_not_taken_for_arithmetic_that_is_folded(index: Any) -> None:
    assert found(stored(index)) == DROPPED
    assert found(stored(index, layout=None)) is None
    assert found(stored(index, shape=(2,), layout=None)) is None


def test_sequences_are_flattened() -> None:
    nothing = ir.Evaluate(0)
    assert found(bound(N), nothing) == FLATTENED
    assert found(nothing) is None


@pytest.mark.parametrize(
    ("domain", "extent"),
    [
        (ir.FloorDiv(N * 3 + 255, int64(256)), N),
        (ir.FloorDiv(N * 12 + 255, int64(256)), ir.FloorDiv(N * 3 + 63, int64(64))),
        (N * 4, N << 2),
    ],
    ids=str,
)
def test_a_dropped_domain_is_one_key_whatever_the_extent_consists_of(
    domain: Any, extent: Any
) -> None:
    assert found(launched(domain, extent)) == DOMAIN
    assert found(launched(extent, extent)) is None


def test_a_thread_that_is_read_as_one_of_another_kind_has_a_key_of_its_own() -> None:
    assert found(launched(N * 4, N + 1, "virtual_thread")) == "PrimFunc, attr_key"

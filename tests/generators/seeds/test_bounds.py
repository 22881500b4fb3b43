"""Which PrimFuncs are seen to stay inside of their buffers."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.script import tirx as T

from relaxfuzz.generators.seeds.bounds import stays_inside


@T.prim_func(private=True, s_tir=True)
def padded(X: T.Buffer((8,), "float32"), Y: T.Buffer((10,), "float32")):
    for i in range(10):
        with T.sblock("padded"):
            vi = T.axis.spatial(10, i)
            Y[vi] = T.if_then_else(vi >= 1 and vi < 9, X[vi - 1], T.float32(0))


@T.prim_func(private=True, s_tir=True)
def padded_at_one_end(X: T.Buffer((8,), "float32"), Y: T.Buffer((10,), "float32")):
    for i in range(10):
        with T.sblock("padded"):
            vi = T.axis.spatial(10, i)
            Y[vi] = T.if_then_else(vi >= 1, X[vi - 1], T.float32(0))


@T.prim_func(private=True, s_tir=True)
def joined(x: T.handle, y: T.handle, z: T.handle):
    n, m = T.int64(), T.int64()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (m,), "float32")
    Z = T.match_buffer(z, (n + m,), "float32")
    for i in range(n + m):
        with T.sblock("joined"):
            vi = T.axis.spatial(n + m, i)
            Z[vi] = T.if_then_else(vi < n, X[vi], Y[vi - n])


@T.prim_func(private=True, s_tir=True)
def of_another_size(x: T.handle, z: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (4,), "float32")
    Z = T.match_buffer(z, (n,), "float32")
    for i in range(n):
        with T.sblock("copied"):
            vi = T.axis.spatial(n, i)
            Z[vi] = X[vi]


@T.prim_func(private=True, s_tir=True)
def taken(X: T.Buffer((8,), "float32"), at: T.Buffer((3,), "int64"), Y: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.sblock("taken"):
            vi = T.axis.spatial(3, i)
            Y[vi] = X[at[vi]]


@T.prim_func(private=True, s_tir=True)
def tiled(X: T.Buffer((10,), "float32"), Y: T.Buffer((10,), "float32")):
    for i, k in T.grid(3, 4):
        with T.sblock("tiled"):
            T.where(i * 4 + k < 10)
            vi = T.axis.spatial(10, i * 4 + k)
            Y[vi] = X[vi]


@T.prim_func(private=True, s_tir=True)
def tiled_too_far(X: T.Buffer((10,), "float32"), Y: T.Buffer((10,), "float32")):
    for i, k in T.grid(3, 4):
        with T.sblock("tiled"):
            vi = T.axis.spatial(10, i * 4 + k)
            Y[vi] = X[vi]


@pytest.mark.parametrize("func", [padded, joined, taken, tiled])
def test_what_stays_inside(func: tirx.PrimFunc) -> None:
    assert stays_inside(func)


@pytest.mark.parametrize("func", [padded_at_one_end, of_another_size, tiled_too_far])
def test_what_may_leave(func: tirx.PrimFunc) -> None:
    assert not stays_inside(func)

# MakePackedAPI: a buffer of a shape of int32, as TVMScript writes it, with strides of int64: an internal check fails

from __future__ import annotations

from typing import TypeVar

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T

s0 = TypeVar("s0")
s1 = TypeVar("s1")


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4, 4), "float32", strides=(s0, s1), layout=None)):
        for i, j in T.grid(4, 4):
            A[i, j] = T.float32(0)


if __name__ == "__main__":
    tvm.compile(mod, "llvm")

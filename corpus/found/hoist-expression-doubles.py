# HoistExpression: eight conditions in one expression

import tvm_ffi
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(
        A: T.Buffer((8,), "int32"),
        a: T.int32,
        b: T.int32,
        c: T.int32,
        d: T.int32,
        e: T.int32,
        f: T.int32,
        g: T.int32,
        h: T.int32,
    ):
        for i in range(8):
            A[i] = (
                T.if_then_else(a < 0, i, 1)
                + T.if_then_else(b < 0, i, 2)
                + T.if_then_else(c < 0, i, 3)
                + T.if_then_else(d < 0, i, 4)
                + T.if_then_else(e < 0, i, 5)
                + T.if_then_else(f < 0, i, 6)
                + T.if_then_else(g < 0, i, 7)
                + T.if_then_else(h < 0, i, 8)
            )


if __name__ == "__main__":
    loops = []
    after = s_tir.transform.HoistExpression()(mod)
    tvm_ffi.structural_walk(after["main"].body, (tirx.For, loops.append))
    assert len(loops) < 2**8, f"{len(loops)} loops for one with 8 conditions"

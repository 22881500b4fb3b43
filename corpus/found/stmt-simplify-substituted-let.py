# StmtSimplify: a variable whose value defines another one is replaced by its value

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(n: T.int32, B: T.Buffer((1,), "float32")):
        t = T.float32()
        v: T.let[T.float32] = T.Let(t * t, where={t: T.Cast("float32", n)})
        B[0] = v


if __name__ == "__main__":
    tvm.s_tir.analysis.verify_well_formed(tirx.transform.StmtSimplify()(mod))

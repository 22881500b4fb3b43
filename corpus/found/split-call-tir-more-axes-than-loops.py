# SplitCallTIRByPattern: a block with more axes than loops around it ends the process

import tvm
from tvm import relax, te
from tvm.relax.transform import SplitCallTIRByPattern
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        with T.sblock("root"):
            for i in range(4):
                with T.sblock("b"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(1, 0)
                    B[vi] = A[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = mod
        y = R.call_tir(cls.add, (x,), out_ty=R.Tensor((4,), "float32"))
        return y


if __name__ == "__main__":
    x = te.placeholder((4,), "float32", name="A")
    y = te.compute((4,), lambda i: x[i] + tvm.tirx.const(1, "float32"))
    pattern = te.create_prim_func([x, y])
    relax.analysis.well_formed(mod)
    for _ in range(100):  # what lies behind the vector differs
        SplitCallTIRByPattern([pattern], lambda matches: ["", 0, []])(mod)

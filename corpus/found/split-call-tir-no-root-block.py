# SplitCallTIRByPattern: a PrimFunc without a root block ends the process

import tvm
from tvm import relax, te
from tvm.relax.transform import SplitCallTIRByPattern
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def nothing(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
        T.func_attr({"operator_name": "relax.nothing"})
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
        cls = mod
        y = R.call_tir(cls.nothing, (x,), out_ty=R.Tensor((2,), "int32"))
        return y


if __name__ == "__main__":
    x = te.placeholder((2,), "int32", name="A")
    pattern = te.create_prim_func([x, te.compute((2,), lambda i: x[i] + 1)])
    relax.analysis.well_formed(mod)
    SplitCallTIRByPattern([pattern], lambda matches: ["", 0, []])(mod)

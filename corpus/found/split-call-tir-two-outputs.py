# SplitCallTIRByPattern: a PrimFunc with two outputs is split into two calls, the second of which still claims both outputs

import tvm
from tvm import relax, te
from tvm.relax.transform import SplitCallTIRByPattern
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def both(
        A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32"), C: T.Buffer((2,), "int32")
    ):
        for i in range(2):
            with T.sblock("add_one"):
                v = T.axis.spatial(2, i)
                B[v] = A[v] + 1
        for i in range(2):
            with T.sblock("square"):
                v = T.axis.spatial(2, i)
                C[v] = A[v] * A[v]

    @R.function
    def main(x: R.Tensor((2,), "int32")) -> R.Tuple(R.Tensor((2,), "int32"), R.Tensor((2,), "int32")):
        return R.call_tir(
            mod.both, (x,), out_ty=[R.Tensor((2,), "int32"), R.Tensor((2,), "int32")]
        )


A = te.placeholder((2,), "int32")
pattern = te.create_prim_func([A, te.compute((2,), lambda i: A[i] + 1)])


def codegen(matches):
    # A library takes the first block; its argument is the buffer that the block reads.
    return ["", tvm.tirx.IntImm("int32", 1), list(matches[0].matched_buffers)[:-1]]


def apply(mod):
    return SplitCallTIRByPattern([pattern], codegen)(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))

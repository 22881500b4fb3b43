# LegalizeOps: call_tir_with_grad has no legalization, and no pass of the default pipeline takes it away

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def copy(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (2,))
        B = T.match_buffer(b, (2,))
        for i in range(2):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            gv = R.call_tir_with_grad(
                mod.copy, (x,), out_ty=R.Tensor((2,), "float32"), te_grad_name="g"
            )
            R.output(gv)
        return gv


if __name__ == "__main__":
    try:
        relax.build(mod, tvm.target.Target("llvm"))
    except Exception as error:
        left = "R.call_tir_with_grad(" in relax.transform.LegalizeOps()(mod).script()
        assert not left, "LegalizeOps leaves R.call_tir_with_grad as it is, and the build fails"
        raise error

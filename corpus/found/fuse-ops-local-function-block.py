# FuseOps: a dataflow block of a local function makes it forget the groups of the block around it

import tvm
from tvm import relax
from tvm.relax.transform import FuseOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def exp(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
        T.func_attr({"op_pattern": 0})
        B[()] = T.exp(A[()])

    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        cls = mod
        with R.dataflow():

            @R.function
            def local(a: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
                with R.dataflow():
                    b = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((), "float32"))
                    R.output(b)
                return b

            y = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((), "float32"))
            z = R.call_tir(cls.exp, (y,), out_ty=R.Tensor((), "float32"))
            w = local(z)
            R.output(w)
        return w


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseOps()(mod)

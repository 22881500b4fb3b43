# RewriteDataflowReshape: where the reshape has a type of its own (a virtual device), its variable is made anew, and the call_tir that use it keep the old one: 'DataflowVar lv is not defined'

import tvm
from tvm import relax
from tvm.relax.transform import RewriteDataflowReshape
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @T.prim_func(private=True, s_tir=True)
    def flatten(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), B: T.Buffer((T.int64(6),), "float32")):
        for i in range(T.int64(6)):
            with T.sblock("flatten"):
                v = T.axis.spatial(T.int64(6), i)
                B[v] = A[v // T.int64(3), v % T.int64(3)]

    @T.prim_func(private=True, s_tir=True)
    def add_one(A: T.Buffer((T.int64(6),), "float32"), B: T.Buffer((T.int64(6),), "float32")):
        for i in range(T.int64(6)):
            with T.sblock("add_one"):
                v = T.axis.spatial(T.int64(6), i)
                B[v] = A[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2, 3), "float32", "llvm:0")) -> R.Tensor((6,), "float32"):
        with R.dataflow():
            lv = R.call_tir(mod.flatten, (x,), out_ty=R.Tensor((6,), "float32"))
            gv = R.call_tir(mod.add_one, (lv,), out_ty=R.Tensor((6,), "float32"))
            R.output(gv)
        return gv


def apply(mod):
    return RewriteDataflowReshape()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))

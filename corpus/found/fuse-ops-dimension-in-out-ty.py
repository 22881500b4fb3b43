# FuseOps: a call_tir whose out_ty names a dimension of a match_cast before it is moved to the front of that match_cast: 'Var is not defined'

import tvm
from tvm import relax
from tvm.relax.transform import FuseOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True, s_tir=True)
    def relu(x: T.Buffer((T.int64(2), T.int64(8)), "float32"), y: T.Buffer((T.int64(2), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(T.int64(2), T.int64(8)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(x[vi, vj], T.float32(0))

    @T.prim_func(private=True, s_tir=True)
    def rows(x: T.Buffer((T.int64(2), T.int64(8)), "float32"), var_y: T.handle):
        T.func_attr({"op_pattern": 0})
        m = T.int64()
        y = T.match_buffer(var_y, (m, T.int64(8)), "float32")
        for i, j in T.grid(m, T.int64(8)):
            with T.sblock("rows"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[0, vj]

    @R.function
    def main(
        x: R.Tensor((2, 8), "float32"), size: R.Tensor((2,), "int64")
    ) -> R.Tensor("float32", ndim=2):
        m = T.int64()
        cls = mod
        with R.dataflow():
            lv = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((2, 8), "float32"))
            shape = R.tensor_to_shape(size)
            _ = R.match_cast(shape, R.Shape([m, 8]))
            gv = R.call_tir(cls.rows, (lv,), out_ty=R.Tensor((m, 8), "float32"))
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(FuseOps()(mod))

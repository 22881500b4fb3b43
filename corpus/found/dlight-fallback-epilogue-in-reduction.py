# dlight.gpu.Fallback: a block that computes on a reduction over one element

import numpy as np
import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((2, 1), "float32"), B: T.Buffer((2,), "float32")):
        S = T.sblock_alloc_buffer((2,), "float32")
        for i, k in T.grid(2, 1):
            with T.sblock("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.min_value("float32")
                S[vi] = T.max(S[vi], A[vi, vk])
        for i in range(2):
            with T.sblock("B"):
                vi = T.axis.spatial(2, i)
                B[vi] = T.exp(S[vi])


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    # Without a device, relaxfuzz evaluates both sides.
    from relaxfuzz import evaluate

    args = [np.array([[-1], [2]], "float32"), np.array([7, 8], "float32")]
    expected = evaluate(mod, "main", args)
    copy = tvm.IRModule(dict(mod.functions_items()))
    after = s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.Fallback())(copy)
    np.testing.assert_equal(evaluate(after, "main", args), expected)

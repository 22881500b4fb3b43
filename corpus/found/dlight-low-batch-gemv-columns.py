# dlight.gpu.LowBatchGEMV: a product with as many columns as do not fill the threads

import numpy as np
import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def matmul(x: T.handle, w: T.Buffer((T.int64(5), T.int64(2)), "float32"), y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(5)))
        Y = T.match_buffer(y, (n, T.int64(2)))
        for i, j, k in T.grid(n, T.int64(2), T.int64(5)):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * w[vk, vj]


mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(Module)

if __name__ == "__main__":
    # Without a device, relaxfuzz evaluates the result.
    from relaxfuzz import evaluate

    rng = np.random.default_rng(0)
    args = [rng.random(shape, "float32") for shape in ((3, 5), (5, 2), (3, 2))]
    after = s_tir.dlight.ApplyDefaultSchedule(s_tir.dlight.gpu.LowBatchGEMV())(mod)
    evaluate(after, "matmul", args, {})

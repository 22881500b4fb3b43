# dlight.Reduction: a reduction that reads no buffer

import tvm
from tvm import s_tir
from tvm.s_tir import dlight
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(total: T.Buffer((1,), "float32")):
        for i, k in T.grid(1, 4):
            with T.sblock("total"):
                v, w = T.axis.remap("SR", [i, k])
                with T.init():
                    total[v] = T.float32(0)
                total[v] = total[v] + T.float32(1)


if __name__ == "__main__":
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_86"}, host="llvm")
    bound = tvm.tirx.transform.BindTarget(target)(mod)
    dlight.ApplyDefaultSchedule(dlight.gpu.Reduction())(bound)

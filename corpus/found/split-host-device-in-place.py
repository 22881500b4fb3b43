# SplitHostDevice: the kernels are put into the module that the pass is given

import tvm
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("llvm", host="llvm")})
        with T.launch_thread("threadIdx.x", 8) as i:
            A[i] = T.float32(0)


if __name__ == "__main__":
    before = tvm.ir.load_json(tvm.ir.save_json(mod))
    tvm.tirx.transform.SplitHostDevice()(mod)
    tvm.ir.assert_structural_equal(mod, before, map_free_vars=True)

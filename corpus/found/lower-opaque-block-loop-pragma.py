# LowerOpaqueBlock: a pragma of a loop becomes an attribute around the loop that names its variable, which is defined inside: 'Invalid use of undefined variable'

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in T.serial(8, annotations={"pragma_auto_unroll_max_step": 16}):
            A[i] = A[i] + T.float32(1)


if __name__ == "__main__":
    # Before TVM 0.27 it was in tirx.
    newer = hasattr(s_tir.analysis, "verify_well_formed")
    analysis = s_tir.analysis if newer else tirx.analysis
    analysis.verify_well_formed(s_tir.transform.LowerOpaqueBlock()(mod))

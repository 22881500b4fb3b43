# LowerTIRxOpaque: a pragma of a loop becomes an attribute outside of the loop that names its variable

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        for i in T.serial(4, annotations={"pragma_auto_unroll_max_step": 16}):
            A[i] = T.float32(0)


if __name__ == "__main__":
    tvm.s_tir.analysis.verify_well_formed(tirx.transform.LowerTIRxOpaque()(mod))

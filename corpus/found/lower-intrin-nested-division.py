# LowerIntrin: a division of a remainder is lowered with the remainder, and the variable in it, twice: 'multiple definitions of variable'

import tvm
from tvm import s_tir, tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), n: T.int32, m: T.int32):
        T.func_attr({"target": T.target("llvm")})
        A[0] = A[1] % n // m


if __name__ == "__main__":
    # Before TVM 0.27 it was in tirx.
    newer = hasattr(s_tir.analysis, "verify_well_formed")
    analysis = s_tir.analysis if newer else tirx.analysis
    analysis.verify_well_formed(tirx.transform.LowerIntrin()(mod))

# FP8ComputeLegalize: a value that is cast to float8 and binds a variable is written several times: 'multiple definitions of variable'

import tvm
from tvm import tirx
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((1,), "float8_e5m2")):
        t = T.float32()
        A[0] = T.Cast("float8_e5m2", T.Let(t + T.float32(1), where={t: T.float32(0)}))


def apply(mod):
    return tirx.transform.FP8ComputeLegalize()(mod)


if __name__ == "__main__":
    tvm.s_tir.analysis.verify_well_formed(mod)
    tvm.s_tir.analysis.verify_well_formed(apply(mod))

# EliminateCommonSubexpr: a number that is bound twice, and the second variable is a dimension: the dimension becomes the first variable in expressions, but not in the types of variables

import tvm
from tvm import relax
from tvm.relax.transform import EliminateCommonSubexpr
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main() -> R.Tensor("float32", ndim=2):
        m = R.prim_value(2)
        n = R.prim_value(2)
        gv = R.zeros((n, 2), "float32")
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(EliminateCommonSubexpr()(mod))

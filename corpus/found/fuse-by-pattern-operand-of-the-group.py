# FuseOpsByPattern: a value inside of a match is used outside of it, and what comes out there goes into the match again: 'A cyclic dependency detected between the groups'

import tvm
from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(w: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        with R.dataflow():
            transposed = R.permute_dims(w)
            x = R.exp(transposed)
            gv = R.matmul(x, transposed)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseOpsByPattern(
        [("dnnl.matmul", is_op("relax.matmul")(wildcard(), is_op("relax.permute_dims")(wildcard())))]
    )(mod)

# InternalError: Check failed: (var_binding) is false:

import tvm
from tvm import relax, tirx
from tvm.relax.transform import Gradient
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((3, 3), "float32"))
k = tirx.Var("k", "int64")
bb = relax.BlockBuilder()
with bb.function("main", [x]):
    with bb.dataflow():
        cast = bb.match_cast(x, R.Tensor((k, 3), "float32"))
        total = bb.emit_output(relax.op.sum(cast))
    bb.emit_func_output(total)
mod = bb.get()
relax.analysis.well_formed(mod)


if __name__ == "__main__":
    Gradient("main")(mod)

# InternalError: Check failed: (var_binding) is false:
#
# pass: Gradient
# oracle: crash
# fingerprint: ["crash", "Gradient", "InternalError", "Check failed: (var_binding) is false:"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (var_binding) is false:
# promise: docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'; docstring of Gradient asks for one dataflow block and a scalar target only

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

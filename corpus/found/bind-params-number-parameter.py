# BindParams: a number that is a parameter goes together with the tensor whose shape names it

import numpy as np
from tvm import relax
from tvm.ir import PrimType
from tvm.relax.transform import BindParams

n = relax.Var("n", PrimType("int64"))
x = relax.Var("x", relax.TensorType((n, 2), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [n, x]):
    builder.emit_func_output(relax.Tuple([n, x]))
mod = builder.get()


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    result = BindParams("main", {"x": np.zeros((3, 2), "float32")})(mod)
    left = [param.name for param in result["main"].params]
    assert left == ["n"], f"only x was bound, and the parameters that are left are {left}"

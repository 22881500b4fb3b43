# TVMScript: a symbolic variable that a match_cast defines is printed with the name of another function's, which the module declares before: 'Cannot redefine a non-PrimType object'

import os

import tvm
from tvm import relax, te, tirx

n = tirx.Var("s", "int64")
A = te.placeholder((n,), "float32", name="A")
copy = te.create_prim_func([A, te.compute((n,), lambda i: A[i], name="B")]).without_attr(
    "global_symbol"
)

s = tirx.Var("s", "int64")
x = relax.Var("x", relax.TensorType(dtype="float32", ndim=1))
bb = relax.BlockBuilder()
callee = bb.add_func(copy, "copy")
with bb.function("main", [x]):
    known = bb.match_cast(x, relax.TensorType((s,), "float32"))
    bb.emit_func_output(
        bb.emit(relax.op.call_tir(callee, known, relax.TensorType((s,), "float32")))
    )
mod = bb.get()


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    relax.analysis.well_formed(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)

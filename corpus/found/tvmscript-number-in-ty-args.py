# TVMScript: T.int64 in ty_args, as VMShapeLower calls a function that returns a number, does not parse

import os

import tvm
from tvm import relax, tirx
from tvm.relax.transform import RemovePurityChecking, VMShapeLower
from tvm.script import relax as R

prim_value = getattr(relax, "prim_value", None) or relax.PrimValue

n = tirx.Var("n", "int64")
x = relax.Var("x", R.Tensor((n,), "float32"))
bb = relax.BlockBuilder()
with bb.function("main", [x]):
    call = relax.op.call_pure_packed("f", prim_value(n), ty_args=R.Tensor((3,), "float32"))
    bb.emit_func_output(bb.emit(call))
mod = RemovePurityChecking()(bb.get())


def apply(mod):
    return VMShapeLower(emit_err_ctx=False)(mod)


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    relax.analysis.well_formed(mod)
    result = apply(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

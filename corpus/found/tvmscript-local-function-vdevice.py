# TVMScript: the parser looks for the virtual device of a local function's signature outside of the module

import os

import tvm
from tvm import relax
from tvm.relax.transform import CallTIRRewrite
from tvm.script import relax as R

os.environ["TVM_BACKTRACE"] = "1"

VDevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice  # moved in TVM 0.27
device = VDevice("llvm", 0, "global")
x = relax.Var("x", R.Tensor((2, 3), "float32"))
y = relax.Var("y", relax.TensorType((2, 3), "float32", vdevice=device))
local = relax.Function([y], relax.SeqExpr([], y), y.ty)
var = relax.Var("local", local.ty)
body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(var, local)])], x)
main = relax.Function([x], body, x.ty).with_attr("global_symbol", "main")
mod = tvm.IRModule({"main": main}, global_infos={"vdevice": [device]})
mod = relax.transform.Normalize()(mod)


def apply(mod, p=None):
    return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [CallTIRRewrite()]
    the_pass = passes[0]

    result = apply(mod)
    relax.analysis.well_formed(result)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

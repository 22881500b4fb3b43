# DataflowUseInplaceCalls: a view of a constant is updated in place: each call of the built function finds what the one before left there

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op
from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

lv = relax.DataflowVar("lv", R.Tensor((6,), "float32"))
gv = relax.Var("gv", R.Tensor((6,), "float32"))
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(lv, relax.Call(Op.get("relax.reshape"), [
                relax.const(np.ones((2, 3), "float32"), "float32"),
                relax.ShapeExpr([6]),
            ])),
            bind(gv, relax.op.add(lv, lv)),
        ])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    machine = relax.VirtualMachine(relax.build(DataflowUseInplaceCalls()(mod), "llvm"), tvm.cpu())
    first, second = machine["main"]().numpy().copy(), machine["main"]().numpy()
    np.testing.assert_array_equal(second, first)

# OptimizeLayoutTransform: two layout_transforms that do not cancel are removed, since the shapes are equal: AlterOpImpl leaves these between two operators of different layouts

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import OptimizeLayoutTransform
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x = relax.Var("x", R.Tensor((2, 2, 2), "float32"))
gv = relax.Var("gv", R.Tensor((2, 2, 2), "float32"))
gv1 = relax.Var("gv1", R.Tensor((2, 2, 2), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(gv, relax.op.layout_transform(x, lambda j, k, i: (i, j, k))),
            bind(gv1, relax.op.layout_transform(gv, lambda i, j, k: (k, i, j))),
        ])],
        gv1,
    ),
    type_of(gv1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv1))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    x = tvm.runtime.tensor(np.arange(8, dtype="float32").reshape(2, 2, 2))
    before, after = (
        relax.VirtualMachine(relax.build(one, "llvm"), tvm.cpu())["main"](x).numpy()
        for one in (mod, OptimizeLayoutTransform()(mod))
    )
    np.testing.assert_array_equal(after, before)

# FoldConstant: scatter_elements of vectors along the axis 1, whose type is inferred, raises an IndexError

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FoldConstant
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((2,), "float32"))
gv = relax.Var("gv", R.Tensor((2,), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.DataflowBlock([relax.VarBinding(gv, typed(
            op(
                "scatter_elements",
                [x, relax.const(np.full((2,), 1, "int64"), "int64"), x],
                "ScatterElementsAttrs",
                axis=1,
                reduction="update",
            ),
            R.Tensor((2,), "float32"),
        ))])],
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
    FoldConstant()(mod)

# TVMScript: a tuple that is written out among the arguments of a call of a variable is refused by the parser

import numpy as np
import os
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.script import relax as R

ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TupleType([
    R.Tensor((2, 2), "float32"),
    R.Tensor((2, 2), "float32"),
    TensorType(None, "float32", ndim=2),
])
x = relax.Var("x", ty)
y = relax.Var("y", R.Tensor((2, 2, 2), "float32"))
z = relax.Var("z", ShapeType(ndim=3))
f = relax.Function([x, y, z], relax.SeqExpr([], x), type_of(x))
set_type(f.body, type_of(x))

f_gv = tvm.ir.GlobalVar("f")
x_1 = relax.Var("x", R.Tensor((2, 2), "float32"))
y_1 = relax.Var("y", R.Tensor((2, 2, 2), "float32"))
gv = relax.Var("gv", type_of(f))
gv1 = relax.Var("gv1", ty)
main = relax.Function(
    [x_1, y_1],
    relax.SeqExpr(
        [relax.BindingBlock([
            relax.VarBinding(gv, f_gv),
            bind(gv1, relax.Call(gv, [
                relax.Tuple([
                    x_1,
                    constant(
                        tvm.runtime.tensor(np.full((2, 2), 1.0, "float32")),
                        R.Tensor((2, 2), "float32"),
                    ),
                    x_1,
                ]),
                y_1,
                relax.ShapeExpr([2, 2, 2]),
            ])),
        ])],
        gv1,
    ),
    type_of(gv1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv1))

max = tirx.PrimFunc([], tirx.Evaluate(0))

mod = tvm.IRModule({f_gv: f, "main": main, "max": max})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    result = mod
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

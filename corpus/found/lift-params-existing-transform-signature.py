# IndexError: Index 2 out of bounds 2

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LiftTransformParams
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

ty = TensorType(None, "int64", ndim=1)
x0 = relax.Var("x0", R.Tensor((2, 2, 8, 8), "float64"))
x1 = relax.Var("x1", R.Tensor((2,), "int64"))
gv23 = relax.Var("gv23", ty)
main = relax.Function(
    [x0, x1],
    relax.SeqExpr([relax.DataflowBlock([relax.MatchCast(gv23, x1, ty)])], gv23),
    type_of(gv23),
    True,
    DictAttrs({"num_input": 0, "global_symbol": "main"}),
)
set_type(main.body, type_of(gv23))

gv13 = relax.Var("gv13", R.Tensor((2,), "float32"))
expr = relax.Tuple([gv13])
gv15 = relax.Var("gv15", type_of(expr))
main_transform_params = relax.Function(
    [gv13],
    relax.SeqExpr([relax.DataflowBlock([relax.VarBinding(gv15, expr)])], gv15),
    type_of(gv15),
    True,
    DictAttrs({"global_symbol": "main_transform_params"}),
)
set_type(main_transform_params.body, type_of(gv15))

mod = tvm.IRModule({"main": main, "main_transform_params": main_transform_params})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={'relax.lift_transform_params.consume_params': True}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LiftTransformParams(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

# LiftTransformParams: a weight that dead code used stays in the first run and goes with the second

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LiftTransformParams
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

m = tirx.Var("m", "int64")
shape = relax.ShapeExpr([m])
x0 = relax.Var("x0", R.Tensor((), "float32"))
x7 = relax.Var("x7", TensorType(shape, "float32"))
gv14 = relax.Var("gv14", R.Tensor((4, 4), "float32"))
lv24 = relax.Var("lv24", R.Tensor((4, 4, 1, 4), "float32"))
v35 = relax.Var("v35", R.Tensor((4, 4), "float32"))
v36 = relax.Var("v36", TensorType(shape, "float32"))
const = constant(tvm.runtime.tensor(np.full((2,), -2.0, "float32")), R.Tensor((2,), "float32"))
main = relax.Function(
    [x0, x7, gv14, lv24],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(v35, relax.op.maximum(gv14, x0)),
            bind(v36, op("builtin.stop_lift_params", [x7])),
        ])],
        const,
    ),
    type_of(const),
    True,
    DictAttrs({"num_input": 0, "global_symbol": "main"}),
)
set_type(main.body, type_of(const))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LiftTransformParams(shared_transform=['main']),
    ]
    the_pass = passes[0]

    once = apply(mod)
    twice = apply(once)
    relax.analysis.well_formed(twice)
    tvm.ir.assert_structural_equal(once, twice, map_free_vars=True)

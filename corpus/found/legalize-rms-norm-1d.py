# InternalError: Check failed: shape.size() == indices.size() (1 vs. 0) : Tensor dimension mismatch in read ndim = 1, indices.size=0

import tvm
from tvm import relax
from tvm.ir import Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

shape = relax.ShapeExpr([3])
x1 = relax.Var("x1", TensorType(shape, "float64"))
x2 = relax.Var("x2", R.Tensor((3,), "float64"))
lv8 = relax.Var("lv8", TensorType(shape, "float64"))
func = relax.Function(
    [x1, x2],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(lv8, relax.Call(
            Op.get("relax.nn.rms_norm"),
            [x1, x2],
            make_node("relax.attrs.RMSNormAttrs", axes=[-1], epsilon=1e-05),
        ))])],
        lv8,
    ),
    type_of(lv8),
)
set_type(func.body, type_of(lv8))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LegalizeOps(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

# AssertionError: emit_te now only supports Tensor that has ShapeExpr shape

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import FastMathTransform

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x3 = relax.Var("x3", TensorType(None, "float32", ndim=-1))
lv10 = relax.Var("lv10", TensorType(None, "float32", ndim=-1))
func = relax.Function(
    [x3],
    relax.SeqExpr([relax.DataflowBlock([bind(lv10, relax.op.exp(x3))])], lv10),
    type_of(lv10),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(lv10))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FastMathTransform(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

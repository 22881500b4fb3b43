# FoldConstant: an AssertionError of emit_te for any operator in a dataflow block on a tensor of unknown shape, constants or not

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import FoldConstant

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x0 = relax.Var("x0", TensorType(None, "int64", ndim=-1))
lv0 = relax.Var("lv0", TensorType(None, "int64", ndim=-1))
func = relax.Function(
    [x0],
    relax.SeqExpr([relax.DataflowBlock([bind(lv0, relax.op.bitwise_or(x0, x0))])], lv0),
    type_of(lv0),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(lv0))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FoldConstant(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

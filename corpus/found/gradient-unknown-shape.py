# InternalError: Check failed: (tensor_ty->shape.has_value()) is false: Missing shape when building zeros tuple.

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import Gradient
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x0 = relax.Var("x0", TensorType(None, "float32", ndim=1))
x1 = relax.Var("x1", R.Tensor((), "float32"))
gv22 = relax.Var("gv22", R.Tensor((5,), "int32"))
expr = relax.Tuple([gv22, x1])
main = relax.Function(
    [x0, x1],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv22, op(
            "arange",
            [prim_value(1), prim_value(11), prim_value(2)],
            "InitAttrs",
            dtype=tvm.DataType("int32"),
        ))])],
        expr,
    ),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(expr))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        Gradient('main', target_index=1),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

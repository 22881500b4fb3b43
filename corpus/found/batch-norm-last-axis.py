# batch_norm in training along the axis -1: list.remove(x): x not in list

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2, 3), "float32")
ty_1 = TensorType((3,), "float32")
x0 = relax.Var("x0", ty)
x1 = relax.Var("x1", ty_1)
x2 = relax.Var("x2", ty_1)
x3 = relax.Var("x3", ty_1)
x4 = relax.Var("x4", ty_1)
gv = relax.Var("gv", TupleType([ty, ty_1, ty_1]))
main = relax.Function(
    [x0, x1, x2, x3, x4],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv, op(
            "nn.batch_norm",
            [x0, x1, x2, x3, x4],
            "BatchNormAttrs",
            axis=-1,
            epsilon=1e-05,
            center=True,
            scale=True,
            momentum=0.1,
            training=True,
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

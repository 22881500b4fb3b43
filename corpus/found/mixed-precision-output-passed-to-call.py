# ToMixedPrecision: an output of the dataflow block that a matmul uses becomes float16, and the call behind the block that takes float32 gets it so

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import ToMixedPrecision
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

shape = relax.ShapeExpr([2, 2])
ty = TensorType((2, 2), "float32")
ty_1 = TensorType((2, 2), "float32")
ty_2 = TensorType((2, 2), "float32")
x0 = relax.Var("x0", TensorType(shape, "float32"))
x1 = relax.Var("x1", TensorType(shape, "float32"))
x6 = relax.Var("x6", R.Tensor((4, 2), "float32"))
gv25 = relax.Var("gv25", ty)
v23 = relax.Var("v23", FuncType([ty_1], ty_2))
gv0 = relax.Var("gv0", ty_1)
gv1 = relax.Var("gv1", ty)
v24 = relax.Var("v24", ty_2)
expr = relax.Tuple([gv25, v24, x6])
func = relax.Function(
    [x0, x1, x6, gv25, v23],
    relax.SeqExpr(
        [
            relax.DataflowBlock([
                bind(gv0, op("permute_dims", [x1], "PermuteDimsAttrs", axes=None)),
                bind(gv1, op("matmul", [x0, gv0], "MatmulAttrs", out_dtype=None)),
            ]),
            relax.BindingBlock([bind(v24, relax.Call(v23, [gv0]))]),
        ],
        expr,
    ),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(expr))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ToMixedPrecision(out_dtype='float32'),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

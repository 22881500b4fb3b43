# ConvertLayout: the output layout of InferLayoutStack names its new dimension S, which no later step finds

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import ConvertLayout
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


ty = TensorType((3, 3, 3), "uint8")
x1 = relax.Var("x1", ty)
gv4 = relax.Var("gv4", R.Tensor((3, 3, 3, 3), "uint8"))
ty_1 = TensorType((3, 3, 3), "uint8")
func = relax.Function(
    [x1],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        gv4,
                        relax.Call(
                            Op.get("relax.stack"),
                            [
                                make_node(
                                    "ir.Tuple" if hasattr(tvm.ir, "Tuple") else "relax.expr.Tuple",
                                    ty=TupleType([ty_1, ty, ty_1]),
                                    fields=[x1, x1, x1],
                                    span=None,
                                )
                            ],
                            make_node("relax.attrs.StackAttrs", axis=1),
                        ),
                    )
                ]
            )
        ],
        gv4,
    ),
    type_of(gv4),
    False,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(gv4))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

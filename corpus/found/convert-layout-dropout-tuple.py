# ConvertLayout: dropout returns a tuple and is given the layout rule of unary operators

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import ConvertLayout

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


ty = TensorType((2, 4), "float32")
x0 = relax.Var("x0", ty)
lv15 = relax.Var("lv15", TupleType([ty, ty]))
main = relax.Function(
    [x0],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        lv15,
                        relax.Call(
                            Op.get("relax.nn.dropout"),
                            [x0],
                            make_node("relax.attrs.DropoutAttrs", rate=0.1),
                        ),
                    )
                ]
            )
        ],
        lv15,
    ),
    type_of(lv15),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(lv15))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

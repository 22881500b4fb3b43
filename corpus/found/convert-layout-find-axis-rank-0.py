# ConvertLayout: FindAxis divides by the rank of a scalar (stack of rank 0)

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import ConvertLayout
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


x0 = relax.Var("x0", R.Tensor((), "float32"))
gv13 = relax.Var("gv13", R.Tensor((1,), "float32"))
func_1 = relax.Function(
    [x0],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        gv13,
                        relax.Call(
                            Op.get("relax.stack"),
                            [relax.Tuple([x0])],
                            make_node("relax.attrs.StackAttrs", axis=0),
                        ),
                    )
                ]
            )
        ],
        gv13,
    ),
    type_of(gv13),
    True,
    DictAttrs({"global_symbol": "func_1"}),
)
set_type(func_1.body, type_of(gv13))

mod = tvm.IRModule({"func_1": func_1})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({}, layout_cb=lambda call: {"relax.nn.conv2d": ["NHWC", "OHWI", "NHWC"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

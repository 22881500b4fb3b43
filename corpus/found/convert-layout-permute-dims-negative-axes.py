# ConvertLayout: InferLayoutPermuteDims takes negative axes as letters of a layout

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


x4 = relax.Var("x4", R.Tensor((3, 4), "float32"))
gv5 = relax.Var("gv5", R.Tensor((4, 3), "float32"))
func = relax.Function(
    [x4],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        gv5,
                        relax.Call(
                            Op.get("relax.permute_dims"),
                            [x4],
                            make_node("relax.attrs.PermuteDimsAttrs", axes=[-1, -2]),
                        ),
                    )
                ]
            )
        ],
        gv5,
    ),
    type_of(gv5),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(gv5))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv1d": ["NWC", "OWI"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

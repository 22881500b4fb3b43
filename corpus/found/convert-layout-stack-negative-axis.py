# ConvertLayout: InferLayoutStack inserts the new dimension at a negative axis

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import ConvertLayout
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


n = tirx.Var("n", "int64")
x0 = relax.Var("x0", R.Tensor((n, 8, n), "float16"))
lv2 = relax.Var("lv2", R.Tensor((n, 1, 8, n), "float16"))
main = relax.Function(
    [x0],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        lv2,
                        relax.Call(
                            Op.get("relax.stack"),
                            [relax.Tuple([x0])],
                            make_node("relax.attrs.StackAttrs", axis=-3),
                        ),
                    )
                ]
            )
        ],
        lv2,
    ),
    type_of(lv2),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(lv2))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI", "NHWC"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

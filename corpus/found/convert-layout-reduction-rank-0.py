# ConvertLayout: the layout of a scalar is the text __undef__, which the next reduction reads as dimensions

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
lv0 = relax.DataflowVar("lv0", R.Tensor((), "float32"))
lv1 = relax.Var("lv1", R.Tensor((), "float32"))
main = relax.Function(
    [x0],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        lv0,
                        relax.Call(
                            Op.get("relax.sum"),
                            [x0],
                            make_node(
                                "relax.attrs.StatisticalAttrs",
                                axis=None,
                                keepdims=False,
                            ),
                        ),
                    ),
                    bind(
                        lv1,
                        relax.Call(
                            Op.get("relax.sum"),
                            [lv0],
                            make_node(
                                "relax.attrs.StatisticalAttrs",
                                axis=None,
                                keepdims=False,
                            ),
                        ),
                    ),
                ]
            )
        ],
        lv1,
    ),
    type_of(lv1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(lv1))

mod = tvm.IRModule({"main": main})
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

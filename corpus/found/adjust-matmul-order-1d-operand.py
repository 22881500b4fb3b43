# AdjustMatmulOrder: a matrix product with a 1-d operand is reordered into one that is ill-typed

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import AdjustMatmulOrder
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


x6 = relax.Var("x6", R.Tensor((8, 4, 8), "float64"))
x7 = relax.Var("x7", R.Tensor((8,), "float64"))
x8 = relax.Var("x8", R.Tensor((4, 4), "float64"))
lv27 = relax.DataflowVar("lv27", R.Tensor((8, 4), "float64"))
gv28 = relax.Var("gv28", R.Tensor((4, 4), "float64"))
gv29 = relax.Var("gv29", R.Tensor((8, 4), "float64"))
main = relax.Function(
    [x6, x7, x8],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        lv27,
                        relax.Call(
                            Op.get("relax.matmul"),
                            [x6, x7],
                            make_node(
                                "relax.attrs.MatmulAttrs",
                                out_dtype=None,
                            ),
                        ),
                    ),
                    bind(
                        gv28,
                        relax.Call(
                            Op.get("relax.permute_dims"),
                            [x8],
                            make_node(
                                "relax.attrs.PermuteDimsAttrs",
                                axes=None,
                            ),
                        ),
                    ),
                    bind(
                        gv29,
                        relax.Call(
                            Op.get("relax.matmul"),
                            [lv27, gv28],
                            make_node(
                                "relax.attrs.MatmulAttrs",
                                out_dtype=None,
                            ),
                        ),
                    ),
                ]
            )
        ],
        gv29,
    ),
    type_of(gv29),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv29))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        AdjustMatmulOrder(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

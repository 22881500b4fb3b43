# CombineParallelMatmul: a matmul whose left operand is a constant is taken for a variable

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import CombineParallelMatmul
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


x1 = relax.Var("x1", R.Tensor((4, 2), "float32"))
lv10 = relax.Var("lv10", R.Tensor((8, 2), "float32"))
func = relax.Function(
    [x1],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        lv10,
                        relax.Call(
                            Op.get("relax.matmul"),
                            [relax.const(np.full((8, 4), 2.0, "float32"), "float32"), x1],
                            make_node("relax.attrs.MatmulAttrs", out_dtype=None),
                        ),
                    )
                ]
            )
        ],
        lv10,
    ),
    type_of(lv10),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(lv10))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        CombineParallelMatmul(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

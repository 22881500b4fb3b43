# TypeError: Cannot convert from type `ir.IntImm` to `Array<ir.Expr>`

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x0 = relax.Var("x0", R.Tensor((3, 1, 4), "float32"))
lv2 = relax.Var("lv2", R.Tensor((3, 1, 4), "float32"))
func = relax.Function(
    [x0],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(lv2, relax.Call(
            Op.get("relax.nn.adaptive_avg_pool1d"),
            [x0],
            make_node(
                "relax.attrs.AdaptivePool1DAttrs",
                output_size=None,
                layout="NCW",
                out_layout="NCW",
            ),
        ))])],
        lv2,
    ),
    type_of(lv2),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(lv2))

mod = tvm.IRModule({"func": func})
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

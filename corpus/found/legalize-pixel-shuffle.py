# AttributeError: module 'tvm.topi.nn' has no attribute 'pixel_shuffle'

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

x2 = relax.Var("x2", R.Tensor((2, 2, 2, 3), "int8"))
v13 = relax.Var("v13", R.Tensor((2, 2, 2, 3), "int8"))
main = relax.Function(
    [x2],
    relax.SeqExpr(
        [relax.BindingBlock([bind(v13, relax.Call(
            Op.get("relax.nn.pixel_shuffle"),
            [x2],
            make_node("relax.attrs.PixelShuffleAttrs", upscale_factor=1),
        ))])],
        v13,
    ),
    type_of(v13),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(v13))

mod = tvm.IRModule({"main": main})
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

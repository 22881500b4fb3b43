# ValueError: Expect value to be constant int

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

n = tirx.Var("n", "int64")
ty = TensorType((n, 8, n), "float16")
x0 = relax.Var("x0", ty)
x1 = relax.Var("x1", R.Tensor((n,), "float16"))
lv0 = relax.Var("lv0", ty)
main = relax.Function(
    [x0, x1],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(lv0, relax.Call(
            Op.get("relax.nn.prelu"),
            [x0, x1],
            make_node("relax.attrs.PReluAttrs", axis=0),
        ))])],
        lv0,
    ),
    type_of(lv0),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(lv0))

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

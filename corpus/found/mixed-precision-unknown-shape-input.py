# ToMixedPrecision: a parameter of unknown shape among fp16_input_names: 'Back optional access'

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import ToMixedPrecision

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

x0 = relax.Var("x0", TensorType(None, "float32", ndim=2))
main = relax.Function(
    [x0],
    relax.SeqExpr([], x0),
    type_of(x0),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(x0))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ToMixedPrecision(out_dtype='float16', fp16_input_names=['x0', 'x1']),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

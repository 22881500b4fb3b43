# CombineParallelMatmul: products of one matrix with vectors: 'Index 1 out of bounds 1'

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

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x2 = relax.Var("x2", R.Tensor((2,), "float32"))
x5 = relax.Var("x5", R.Tensor((2, 2, 4), "float32"))
x6 = relax.Var("x6", R.Tensor((4,), "float32"))
x7 = relax.Var("x7", R.Tensor((4,), "float32"))
gv56 = relax.Var("gv56", R.Tensor((2, 2), "float32"))
lv57 = relax.DataflowVar("lv57", R.Tensor((2, 2), "float32"))
main = relax.Function(
    [x2, x5, x6, x7],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(gv56, op("matmul", [x5, x6], "MatmulAttrs", out_dtype=None)),
            bind(lv57, op("matmul", [x5, x7], "MatmulAttrs", out_dtype=None)),
        ])],
        x2,
    ),
    type_of(x2),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(x2))

mod = tvm.IRModule({"main": main})
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

# a product over an axis of extent 0 is memory that nobody wrote to, where matmul gives zeros

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FuseTransposeMatmul
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((2, 0), "float32"))
w = relax.Var("w", R.Tensor((2, 0), "float32"))
t = relax.DataflowVar("t", R.Tensor((0, 2), "float32"))
gv = relax.Var("gv", R.Tensor((2, 2), "float32"))
main = relax.Function(
    [x, w],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(t, op("permute_dims", [w], "PermuteDimsAttrs", axes=None)),
            bind(gv, op("matmul", [x, t], "MatmulAttrs", out_dtype=None)),
        ])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FuseTransposeMatmul(),
    ]
    the_pass = passes[0]

    # Compiled code does not show this: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.zeros((2, 0), "float32"), np.zeros((2, 0), "float32"), np.array([[0., 0.],
     [0., 0.]], "float32")]
    func = apply(mod)['NT_matmul']
    fault = sanitize(func, args, outputs=[2])
    assert fault is None, f"{func}\n{fault}"

# DispatchSortScan: cumprod of a tensor without elements reads and writes one

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import relax as R, tirx as T

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

n = tirx.Var("n", "int64")
x = relax.Var("x", R.Tensor((2, n), "float32"))
gv = relax.Var("gv", R.Tensor((tirx.Mul(T.int64(2), n),), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "cumprod",
            [x],
            "ScanopAttrs",
            axis=None,
            dtype=None,
            exclusive=False,
        ))])],
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
        relax.backend.DispatchSortScan(),
    ]
    the_pass = passes[0]

    # Compiled code does not show this: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.zeros((2, 0), "float32"), np.zeros((0,), "float32")]
    func = apply(mod)['cumprod']
    fault = sanitize(func, args, outputs=[1])
    assert fault is None, f"{func}\n{fault}"

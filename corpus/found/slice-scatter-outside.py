# slice_scatter reads behind its source for what is not in the slice

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

shape = relax.ShapeExpr([3])
x = relax.Var("x", TensorType(shape, "float32"))
s = relax.Var("s", R.Tensor((2,), "float32"))
gv = relax.Var("gv", TensorType(shape, "float32"))
main = relax.Function(
    [x, s],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv, op(
            "slice_scatter",
            [x, s, prim_value(0), prim_value(2), prim_value(1)],
            "SliceScatterAttrs",
            axis=0,
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
        LegalizeOps(),
    ]
    the_pass = passes[0]

    # Compiled code does not show this: relaxfuzz runs the PrimFunc element by element.
    from relaxfuzz import sanitize

    args = [np.array([2., 1., 0.], "float32"), np.array([-2., -1.], "float32"), np.array([0., 0., 0.], "float32")]
    func = apply(mod)['slice_scatter']
    fault = sanitize(func, args, outputs=[2])
    assert fault is None, f"{func}\n{fault}"

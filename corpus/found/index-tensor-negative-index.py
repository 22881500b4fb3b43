# index_tensor with a negative index reads before the data

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((2,), "float32"))
gv = relax.Var("gv", R.Tensor((2,), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            op("index_tensor", [
                x,
                relax.Tuple([constant(
                    tvm.runtime.tensor(np.array([-1, -2], "int64")),
                    R.Tensor((2,), "int64"),
                )]),
            ]),
            R.Tensor((2,), "float32"),
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

    args = [np.array([2., 1.], "float32"), np.array([-1, -2], "int64"), np.array([0., 0.], "float32")]
    func = apply(mod)['index_tensor']
    fault = sanitize(func, args, outputs=[2])
    assert fault is None, f"{func}\n{fault}"

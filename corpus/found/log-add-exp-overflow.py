# log_add_exp of 100 and 99 is infinite

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2,), "float32")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([], ty))
gv = relax.Var("gv", ty)
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            op("log_add_exp", [
                relax.const(np.array([100.0, -200.0], "float32"), "float32"),
                relax.const(np.full((2,), 1.0, "float32"), "float32"),
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

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    args = []
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    actual = machine['main'](*args)
    actual = actual.numpy()
    expected = np.array([100.,   1.], "float32")
    np.testing.assert_allclose(actual, expected, rtol=2e-05, atol=0.0008, strict=True)

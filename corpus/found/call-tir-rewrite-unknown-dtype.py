# CallTIRRewrite: a result of unknown dtype: Back optional access

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import CallTIRRewrite

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TensorType((2, 2), None)
gv = relax.Var("gv", ty)
shape = relax.ShapeExpr([2, 2])
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, relax.op.call_dps_packed(
            relax.ExternFunc("test0"),
            [shape],
            ty,
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

if __name__ == "__main__":
    CallTIRRewrite()(mod)

# DispatchSortScan: sort of a tensor of unknown shape: emit_te now only supports Tensor that has ShapeExpr shape

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType(None, "float32", ndim=2)
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty], ty))
x = relax.Var("x", ty)
gv = relax.Var("gv", ty)
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op("sort", [x], "SortAttrs", axis=-1, descending=False))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSortScan()(mod)

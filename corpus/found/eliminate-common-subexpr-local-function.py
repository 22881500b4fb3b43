# EliminateCommonSubexpr: Var gv is not defined.

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import EliminateCommonSubexpr
from tvm.script import relax as R, tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

ty = TensorType((2, 2), "float32")
x = relax.Var("x", R.Tensor((2, 2, 2), "float32"))
y = relax.Var("y", R.Tensor((2, 2, 2, 2), "float32"))
expr = relax.Tuple([y, x])
a = relax.Var("a", R.Tensor((2, 2, 2, 2), "float32"))
ty_1 = TensorType((2, 2), "float32")
gv = relax.Var("gv", ty_1)
transpose_gv = tvm.ir.GlobalVar("transpose")
expr_1 = relax.Function(
    [a],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, relax.op.call_tir(transpose_gv, [], ty_1))])],
        expr,
    ),
    type_of(expr),
)
set_type(expr_1.body, type_of(expr))

gv1 = relax.Var("gv1", type_of(expr_1))
gv2 = relax.Var("gv2", ty)
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.BindingBlock([
            relax.VarBinding(gv1, expr_1),
            bind(gv2, relax.op.call_tir(transpose_gv, [], ty)),
        ])],
        gv2,
    ),
    type_of(gv2),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv2))

T_transpose = buffer([2, 2], "float32", "T_transpose")
transpose = prim_func([T_transpose], tirx.Evaluate(0))

mod = tvm.IRModule({"main": main, transpose_gv: transpose})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(EliminateCommonSubexpr()(mod))

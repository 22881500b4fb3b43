# FuseTIR: a symbolic dimension that a primitive function is given turns out to be a number: 'All shape inputs are expected to be single tirx var'

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, make_node
from tvm.relax.transform import FuseTIR
from tvm.script import relax as R, tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock
SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def root(*stmts, **options):
    body = tirx.SeqStmt(stmts) if len(stmts) > 1 else stmts[0]
    return SBlockRealize([], True, SBlock([], [], [], "root", body, **options))

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

k = tirx.Var("k", "int64")
full_gv = tvm.ir.GlobalVar("full")
T_full = buffer([k, 2], "float16", "T_full")
full = prim_func([T_full], root(tirx.Evaluate(0)))

k_1 = tirx.Var("k", "int64")
ty = ShapeType([k_1])
ty_1 = TensorType((k_1, 2), "float16")
fused_full_concatenate1_gv = typed(
    tvm.ir.GlobalVar("fused_full_concatenate1"),
    FuncType([ty], ty_1),
)
tir_vars = relax.Var("tir_vars", ty)
lv34 = relax.Var("lv34", R.Tensor((k_1, 2), "float16"))
ty_2 = TensorType((k_1, 2), "float16")
fused_full_concatenate1 = make_node(
    "relax.expr.Function",
    ty=FuncType([ty], ty_1),
    attrs=DictAttrs({"Primitive": True}),
    params=[tir_vars],
    body=typed(
        relax.SeqExpr(
            [relax.BindingBlock([relax.VarBinding(lv34, typed(
                relax.op.call_tir(full_gv, [], ty_2),
                ty_2,
            ))])],
            lv34,
        ),
        ty_1,
    ),
    ret_ty=ty_1,
    is_pure=True,
    span=None,
)

ty_3 = TensorType((3, 3, 3), "float16")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty_3], TensorType(None, "float16", ndim=2)))
lv32 = relax.Var("lv32", ty_3)
k_2 = tirx.Var("k", "int64")
ty_4 = TensorType((k_2, 3, 3), "float16")
lv33 = relax.Var("lv33", ty_4)
gv = relax.Var("gv", R.Tensor((k_2, 2), "float16"))
main = relax.Function(
    [lv32],
    relax.SeqExpr(
        [relax.BindingBlock([
            relax.MatchCast(lv33, lv32, ty_4),
            bind(gv, relax.Call(fused_full_concatenate1_gv, [relax.ShapeExpr([k_2])])),
        ])],
        gv,
    ),
    TensorType(None, "float16", ndim=2),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({
    full_gv: full,
    fused_full_concatenate1_gv: fused_full_concatenate1,
    main_gv: main,
})
set_type(full_gv, type_of(full))

if __name__ == "__main__":
    FuseTIR()(mod)

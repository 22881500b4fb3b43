# RewriteDataflowReshape: a PrimFunc with a composite symbolic extent fails an internal check

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import RewriteDataflowReshape
from tvm.script import relax as R, tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock
SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize
interval = tvm.ir.Range.from_min_extent
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def variables(dtype, *names):
    return [tirx.Var(name, dtype) for name in names]

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

main_gv = tvm.ir.GlobalVar("main")
x = relax.Var("x", R.Tensor((2, 2, 2), "int64"))
y = relax.Var("y", R.Tensor((2,), "int64"))
ty = TensorType((2, 2, 2), "int64")
lv = relax.DataflowVar("lv", ty)
n = tirx.Var("n", "int64")
expr = ((n * 4) + 1)
expr_1 = ((n * 4) + 1)
reshape_gv = typed(tvm.ir.GlobalVar("reshape"), FuncType(
    [R.Tensor((expr, 2, 2), "int64"), PrimType("int64"), R.Tensor((2, 2, expr_1), "int64")],
    TupleType([]),
    False,
))
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(lv, relax.op.call_tir(reshape_gv, [x, prim_value(2)], ty))])],
        y,
    ),
    type_of(y),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(y))

lv6 = buffer([expr, 2, 2], "int64", "lv6")
T_reshape = buffer([2, 2, expr_1], "int64", "T_reshape")
ax0, v_ax0, v_ax1, v_ax2 = variables("int64", "ax0", "v_ax0", "v_ax1", "v_ax2")
reshape = prim_func(
    [lv6, n, T_reshape],
    root(tirx.For(ax0, T.int64(0), T.int64(2), tirx.ForKind.SERIAL, SBlockRealize(
        [ax0, T.int64(0), T.int64(0)],
        True,
        SBlock(
            [
                tirx.IterVar(interval(T.int64(0), T.int64(2)), v_ax0, 0),
                tirx.IterVar(interval(T.int64(0), T.int64(2)), v_ax1, 0),
                tirx.IterVar(interval(T.int64(0), ((n * 4) + 1)), v_ax2, 0),
            ],
            [],
            [],
            "T_reshape",
            tirx.BufferStore(
                T_reshape,
                lv6[T.int64(0), T.int64(0), (v_ax0 + v_ax1)],
                [v_ax0, v_ax1, v_ax2],
            ),
        ),
    ))),
    attrs=DictAttrs({"s_tir": True}),
)

mod = tvm.IRModule({main_gv: main, reshape_gv: reshape})
set_type(main_gv, type_of(main))

if __name__ == "__main__":
    RewriteDataflowReshape()(mod)

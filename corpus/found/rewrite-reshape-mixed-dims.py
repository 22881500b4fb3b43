# RewriteDataflowReshape: a PrimFunc whose buffers mix dims of int32 and int64 ends in an internal error

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import RewriteDataflowReshape
from tvm.script import relax as R, tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
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
x = relax.Var("x", R.Tensor((2, 2), "float32"))
y = relax.Var("y", R.Tensor((2,), "float32"))
z = relax.Var("z", R.Tensor((2, 2, 2), "float32"))
ty = TensorType((2, 2, 2), "float32")
lv = relax.DataflowVar("lv", ty)
kernel_gv = typed(tvm.ir.GlobalVar("kernel"), FuncType(
    [R.Tensor((2, 2, 2), "float32"), R.Tensor((2, 2, 2), "float32")],
    TupleType([]),
    False,
))
expr = relax.Tuple([x, y, x])
main = relax.Function(
    [x, y, z],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(lv, relax.op.call_tir(kernel_gv, [z], ty))])],
        expr,
    ),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(expr))

A = tirx.decl_buffer([2, T.int64(2), T.int64(2)], "float32", "A", layout=None)
transpose = tirx.decl_buffer([T.int64(2), T.int64(2), 2], "float32", "transpose", layout=None)
i0, v_i0, v_i1 = variables("int64", "i0", "v_i0", "v_i1")
v_i2 = tirx.Var("v_i2", "int32")
kernel = prim_func(
    [A, transpose],
    root(tirx.For(i0, T.int64(0), T.int64(2), tirx.ForKind.SERIAL, SBlockRealize(
        [i0, T.int64(0), 0],
        True,
        SBlock(
            [
                tirx.IterVar(interval(0, T.int64(2)), v_i0, 0),
                tirx.IterVar(interval(0, T.int64(2)), v_i1, 0),
                tirx.IterVar(interval(0, 2), v_i2, 0),
            ],
            [],
            [],
            "transpose",
            tirx.BufferStore(transpose, A[v_i2, T.int64(0), T.int64(0)], [v_i0, v_i1, v_i2]),
        ),
    ))),
    attrs=DictAttrs({"s_tir": True}),
)

mod = tvm.IRModule({main_gv: main, kernel_gv: kernel})
set_type(main_gv, type_of(main))

if __name__ == "__main__":
    RewriteDataflowReshape()(mod)

# a constant without elements cannot be read back

import os
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import FoldConstant
from tvm.script import tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock
SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize
interval = tvm.ir.Range.from_min_extent
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def variables(dtype, *names):
    return [tirx.Var(name, dtype) for name in names]

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def literal(value, like):
    dtype = getattr(like, "ty", like).dtype
    return tirx.IntImm(dtype, value) if isinstance(value, int) else value

def at(source, *indices):
    return tirx.BufferRegion(source, [interval(i, literal(1, i)) for i in indices])

def nest(name, kinds, axes, extents, reads, writes, body, **options):
    loops, iters = [], []
    for kind, axis, n in zip(kinds, axes, extents):
        loop = axis.name[1:].lstrip("_") or "v"
        loops.append(tirx.Var(loop, getattr(axis, "ty", axis).dtype))
        if not isinstance(n, tvm.ir.Range):
            n = interval(literal(0, axis), literal(n, axis))
        iters.append(tirx.IterVar(n, axis, {"S": 0, "R": 2}[kind]))
    stmt = SBlockRealize(loops, True, SBlock(iters, reads, writes, name, body, **options))
    for loop, axis in zip(loops[::-1], iters[::-1]):
        stmt = tirx.For(loop, literal(0, loop), axis.dom.extent, tirx.ForKind.SERIAL, stmt)
    return stmt

def root(*stmts, **options):
    body = tirx.SeqStmt(stmts) if len(stmts) > 1 else stmts[0]
    return SBlockRealize([], True, SBlock([], [], [], "root", body, **options))

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

ty = TensorType((2, 0), "float32")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([], ty))
gv = relax.Var("gv", ty)
ty_1 = TensorType((2, 0), "float32")
zeros_gv = tvm.ir.GlobalVar("zeros")
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.DataflowBlock([relax.VarBinding(gv, typed(
            relax.op.call_tir(zeros_gv, [], ty_1),
            ty_1,
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

T_full = buffer([2, 0], "float32", "T_full")
v_ax0, v_ax1 = variables("int64", "v_ax0", "v_ax1")
zeros = prim_func([T_full], root(nest(
    "T_full",
    "SS",
    [v_ax0, v_ax1],
    [2, 0],
    [],
    [at(T_full, v_ax0, v_ax1)],
    tirx.BufferStore(T_full, T.float32(0.0), [v_ax0, v_ax1]),
)))

mod = tvm.IRModule({main_gv: main, zeros_gv: zeros})
set_type(zeros_gv, type_of(zeros))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    passes = [
        FoldConstant(),
    ]
    the_pass = passes[0]

    result = apply(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

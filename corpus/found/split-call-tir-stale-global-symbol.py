# SplitCallTIRByPattern: what is left of a public PrimFunc keeps its global_symbol, which the external function that takes the other part has, too

import tvm
from tvm import relax, te, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import SplitCallTIRByPattern
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

ty = TensorType((4, 4), "float32")
ty_1 = TensorType((4, 4), "float32")
func_1_gv = typed(tvm.ir.GlobalVar("func_1"), FuncType([ty], ty_1))
x0 = relax.Var("x0", ty)
gv4 = relax.Var("gv4", ty_1)
tir_two_steps_gv = typed(tvm.ir.GlobalVar("tir_two_steps"), FuncType(
    [R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32")],
    TupleType([]),
    False,
))
func_1 = relax.Function(
    [x0],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv4, relax.op.call_tir(tir_two_steps_gv, [x0], ty_1))])],
        gv4,
    ),
    type_of(gv4),
    True,
    DictAttrs({"global_symbol": "func_1"}),
)
set_type(func_1.body, type_of(gv4))

A = tirx.decl_buffer([4, 4], "float32", "A", layout=None)
square = tirx.decl_buffer([4, 4], "float32", "square", layout=None)
add_one = tirx.decl_buffer([4, 4], "float32", "add_one", layout=None)
v_i0, v_i1, v_i0_1, v_i1_1 = variables("int32", "v_i0", "v_i1", "v_i0", "v_i1")
tir_two_steps = prim_func(
    [A, square],
    root(
        nest(
            "add_one",
            "SS",
            [v_i0, v_i1],
            [4, 4],
            [at(A, v_i0, v_i1)],
            [at(add_one, v_i0, v_i1)],
            tirx.BufferStore(add_one, tirx.Add(A[v_i0, v_i1], T.float32(1.0)), [v_i0, v_i1]),
        ),
        SBlockRealize([0, 0], True, SBlock(
            [tirx.IterVar(interval(0, 4), v_i0_1, 0), tirx.IterVar(interval(0, 4), v_i1_1, 0)],
            [],
            [at(square, v_i0_1, v_i1_1)],
            "square",
            tirx.BufferStore(square, T.float32(0.0), [0, 0]),
        )),
        alloc_buffers=[add_one],
    ),
    attrs=DictAttrs({"global_symbol": "tir_two_steps"}),
)

mod = tvm.IRModule({func_1_gv: func_1, tir_two_steps_gv: tir_two_steps})

if __name__ == "__main__":
    the_pass = SplitCallTIRByPattern([(lambda a: te.create_prim_func([a, te.compute(a.shape, lambda *i: a(*i) + tvm.tirx.const(1, a.dtype))]))(te.placeholder((4, 4), 'float32', name='A'))], lambda matches: ['void {global_symbol}() {}', tvm.tirx.IntImm('int32', 1), list(matches[0].matched_buffers)[:-1]])
    result = the_pass(mod)
    for gvar, func in result.functions_items():
        symbol = (func.attrs or {}).get("global_symbol")
        assert symbol in (None, gvar.name_hint), f"{gvar}: the global_symbol is {symbol!r}"

# LiftTransformParams: the tuple that the function returns loses a dimension that is a parameter; a second run brings it back

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import LiftTransformParams
from tvm.script import relax as R, tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
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

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

ty = TensorType((2,), "float32")
main_gv = tvm.ir.GlobalVar("main")
n = relax.Var("n", PrimType("int64"))
w = relax.Var("w", TupleType([R.Tensor((2, 2, 2), "float32"), ty, R.Tensor((2,), "float32")]))
ty_1 = TensorType((n, 2), "int64")
gv = relax.Var("gv", ty_1)
v17 = tirx.Var("v17", "int64")
zeros_gv = typed(tvm.ir.GlobalVar("zeros"), FuncType(
    [R.Tensor((v17, 2), "int64")],
    TupleType([]),
))
gv1 = relax.Var("gv1", ty)
expr = relax.Tuple([gv, gv1])
main = relax.Function(
    [n, w],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(gv, relax.op.call_tir(zeros_gv, [], ty_1)),
            relax.VarBinding(gv1, relax.TupleGetItem(w, 1)),
        ])],
        expr,
    ),
    TupleType([TensorType(None, "int64", ndim=2), ty]),
    True,
    DictAttrs({"num_input": 1, "global_symbol": "main"}),
)
set_type(main.body, type_of(expr))

T_full = buffer([v17, 2], "int64", "T_full")
zeros = prim_func([T_full], tirx.Evaluate(0))

mod = tvm.IRModule({main_gv: main, zeros_gv: zeros})
set_type(main_gv, type_of(main))

if __name__ == "__main__":
    the_pass = LiftTransformParams()
    once = the_pass(mod)
    twice = the_pass(once)
    tvm.ir.assert_structural_equal(twice, once, map_free_vars=True)

# LazyGetInput: a number that is a dimension: the out_ty of call_tir names the number, the loaded tensor another variable

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import LazyGetInput
from tvm.script import relax as R, tirx as T

PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

n = tirx.Var("n", "int64")
kernel_gv = tvm.ir.GlobalVar("kernel")
x1 = buffer([n, 3], "float32", "x1")
T_concat = buffer([(n * 3), 3], "float32", "T_concat")
kernel = prim_func([x1, T_concat], tirx.Evaluate(0))

n_1 = relax.Var("n", PrimType("int64"))
x = relax.Var("x", R.Tensor((n_1, 3), "float32"))
gv = relax.Var("gv", R.Tensor(((n_1 * 3), 3), "float32"))
ty = TensorType(((n_1 * 3), 3), "float32")
main = relax.Function(
    [n_1, x],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(
            gv,
            typed(relax.op.call_tir(kernel_gv, [x], ty), ty),
        )])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({kernel_gv: kernel, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(LazyGetInput()(mod))

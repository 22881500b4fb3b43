# LambdaLift: a local function returns the variable of an If that gets a new type

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import LambdaLift
from tvm.script import relax as R, tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
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

ty = TensorType(None, "float32", ndim=2)
gv2 = relax.Var("gv2", ty)
a = relax.Var("a", R.Tensor((2, 2), "float32"))
expr = relax.Function(
    [a],
    relax.SeqExpr([], gv2),
    type_of(gv2),
    True,
    DictAttrs({"relax.force_pure": True}),
)
set_type(expr.body, type_of(gv2))

x = relax.Var("x", R.Tensor((), "float32"))
ty_1 = TensorType((2, 2), "float32")
gv = relax.Var("gv", ty_1)
relu_llvm_gv = tvm.ir.GlobalVar("relu_llvm")
ty_2 = TensorType((2, 2), "float32")
gv1 = relax.Var("gv1", ty_2)
gv3 = relax.Var("gv3", type_of(expr))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(gv2, relax.If(
                x,
                typed(
                    relax.SeqExpr(
                        [relax.BindingBlock([bind(gv, relax.op.call_tir(relu_llvm_gv, [], ty_1))])],
                        gv,
                    ),
                    ty,
                ),
                typed(
                    relax.SeqExpr(
                        [relax.BindingBlock([bind(
                            gv1,
                            relax.op.call_tir(relu_llvm_gv, [], ty_2),
                        )])],
                        gv1,
                    ),
                    TensorType(None, "float32", ndim=2),
                ),
            )),
            relax.VarBinding(gv3, expr),
        ])],
        gv3,
    ),
    type_of(gv3),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv3))

compute = buffer([2, 2], "float32", "compute")
relu_llvm = prim_func([compute], tirx.Evaluate(0))

mod = tvm.IRModule({"main": main, relu_llvm_gv: relu_llvm})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(LambdaLift()(mod))

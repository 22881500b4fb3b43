# TVMScript: the annotation R.Shape([]), as the printer writes the shape of a scalar, is read as a shape of unknown rank

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import relax as R, tirx as T

ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
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

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

x1 = relax.Var("x1", R.Tensor((), "float32"))
lv29 = relax.Var("lv29", R.Tensor((), "int64"))
lv2 = relax.DataflowVar("lv2", ShapeType([]))
lv3 = relax.DataflowVar("lv3", R.Tensor((0,), "int64"))
ty = TensorType((0,), "int64")
shape_to_tensor1_gv = tvm.ir.GlobalVar("shape_to_tensor1")
gv30 = relax.Var("gv30", R.Tensor((), "int64"))
func_2 = relax.Function(
    [x1, lv29],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(lv2, op("shape_of", [x1])),
            relax.VarBinding(lv3, typed(relax.op.call_tir(shape_to_tensor1_gv, [], ty), ty)),
            relax.VarBinding(gv30, lv29),
        ])],
        gv30,
    ),
    type_of(gv30),
    True,
    DictAttrs({"global_symbol": "func_2"}),
)
set_type(func_2.body, type_of(gv30))

shape_to_tensor = buffer([0], "int64", "shape_to_tensor")
shape_to_tensor1 = prim_func([shape_to_tensor], tirx.Evaluate(0))

mod = tvm.IRModule({"func_2": func_2, shape_to_tensor1_gv: shape_to_tensor1})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    result = mod
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

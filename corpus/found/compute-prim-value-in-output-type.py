# ComputePrimValue: DataflowVar lv is used outside DataflowBlock.

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import ComputePrimValue
from tvm.script import relax as R, tirx as T

ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

def prim_call(name, args, dtype):
    if name not in Op.list_op_names():
        name = name.replace("prim.", "tirx.")
    if hasattr(tvm.ir, "PrimExpr"):
        return tirx.Call(dtype, Op.get(name), args)
    return tvm.ir.Call(name, args, ret_ty=dtype)

n = tirx.Var("n", "int64")
x = relax.Var("x", R.Tensor((2, 2), "float32"))
y = relax.Var("y", ShapeType([n]))
gv = relax.Var("gv", R.Tensor(
    (
        tirx.Min(
            tirx.Max(
                prim_call(
                    "prim.if_then_else",
                    [tirx.LT(n, T.int64(0)), ((n * 4) + 3), ((n * 4) + 1)],
                    "int64",
                ),
                T.int64(0),
            ),
            T.int64(2),
        ),
        2,
    ),
    "float32",
))
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv, op(
            "strided_slice",
            [
                x,
                relax.Tuple([prim_value(0)]),
                relax.Tuple([prim_value(0)]),
                relax.Tuple([prim_value(((n * 4) + 1))]),
            ],
            "StridedSliceAttrs",
            assume_inbound=False,
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(ComputePrimValue()(mod))

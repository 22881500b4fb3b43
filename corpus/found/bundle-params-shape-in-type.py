# BundleModelParams: a weight that is a shape, and the shape of an output, becomes a DataflowVar in its type

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import BundleModelParams

ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

w = relax.Var("w", ShapeType(ndim=3))
gv = relax.Var("gv", TensorType(w, "float32"))
main = relax.Function(
    [w],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv, op(
            "full",
            [w, relax.const(1.0, "float32")],
            "InitAttrs",
            dtype=None,
        ))])],
        gv,
    ),
    TensorType(None, "float32", ndim=3),
    True,
    DictAttrs({"num_input": 0, "global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(BundleModelParams(param_tuple_name='weights')(mod))

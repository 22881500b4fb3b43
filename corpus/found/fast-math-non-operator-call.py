# AttributeError: 'GlobalVar' object has no attribute 'name'

import json
import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import FastMathTransform
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def tensor(data):
    graph = {"root_index": 0, "nodes": [{"type": "ffi.Tensor", "data": data}]}
    return tvm.ir.load_json(json.dumps(graph))

ty = TensorType((4,), "float32")
ty_1 = TensorType((4, 3), "float32")
ty_2 = TensorType((2,), "float32")
func_gv = typed(tvm.ir.GlobalVar("func"), FuncType([ty, ty_1], ty_2))
x0 = relax.Var("x0", ty)
x1 = relax.Var("x1", ty_1)
const = constant(tvm.runtime.tensor(np.array([-2.0, 0.0], "float32")), ty_2)
func = relax.Function(
    [x0, x1],
    relax.SeqExpr([], const),
    type_of(const),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(const))

func_1_gv = tvm.ir.GlobalVar("func_1")
x1_1 = relax.Var("x1", R.Tensor((4,), "float32"))
x2 = relax.Var("x2", R.Tensor((4, 3), "float32"))
gv7 = relax.Var("gv7", ty_2)
func_1 = relax.Function(
    [x1_1, x2],
    relax.SeqExpr([relax.DataflowBlock([bind(gv7, relax.Call(func_gv, [x1_1, x2]))])], gv7),
    type_of(gv7),
    True,
    DictAttrs({"global_symbol": "func_1"}),
)
set_type(func_1.body, type_of(gv7))

mod = tvm.IRModule({func_gv: func, func_1_gv: func_1})
set_type(func_1_gv, type_of(func_1))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FastMathTransform(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

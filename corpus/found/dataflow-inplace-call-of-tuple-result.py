# DataflowUseInplaceCalls: a call whose result is a tuple, and a call that takes it: the tuple counts as one of its own fields, and AddCapturedIndices goes round until the stack is full

import tvm
from tvm import relax
from tvm.ir import DictAttrs, make_node
from tvm.relax.transform import DataflowUseInplaceCalls

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
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

ty = TensorType((2, 3), "float32")
ty_1 = TensorType((3,), "float32")
ty_2 = TensorType((2, 1), "float32")
ty_3 = TensorType((3,), "float32")
ty_4 = TensorType((2, 1), "float32")
ty_5 = TupleType([ty_3, ty_4])
func_gv = typed(tvm.ir.GlobalVar("func"), FuncType([ty, ty_1, ty_2], ty_5))
x2 = relax.Var("x2", ty)
gv7 = relax.Var("gv7", ty_1)
gv8 = relax.Var("gv8", ty_2)
ty_6 = TupleType([ty_3, ty_4])
gv14 = relax.Var("gv14", ty_6)
ty_7 = TensorType((2, 3), "float32")
results_gv = typed(tvm.ir.GlobalVar("results"), FuncType([ty_7, ty_1, ty_2], ty_6))
gv15 = relax.Var("gv15", ty_5)
results_1_gv = typed(tvm.ir.GlobalVar("results_1"), FuncType([ty_5], ty_5))
func = relax.Function(
    [x2, gv7, gv8],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(gv14, relax.Call(results_gv, [x2, gv7, gv8])),
            bind(gv15, relax.Call(results_1_gv, [gv14])),
        ])],
        gv15,
    ),
    type_of(gv15),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(gv15))

x0 = relax.Var("x0", ty_7)
gv7_1 = relax.Var("gv7", ty_1)
gv8_1 = relax.Var("gv8", ty_2)
results = make_node(
    "relax.expr.Function",
    ty=FuncType([ty_7, ty_1, ty_2], ty_6),
    attrs=DictAttrs({}),
    params=[x0, gv7_1, gv8_1],
    body=typed(relax.SeqExpr([], relax.Tuple([gv7_1, gv8_1])), ty_6),
    ret_ty=ty_6,
    is_pure=True,
    span=None,
)

x0_1 = relax.Var("x0", ty_5)
results_1 = relax.Function([x0_1], relax.SeqExpr([], x0_1), type_of(x0_1))
set_type(results_1.body, type_of(x0_1))

mod = tvm.IRModule({func_gv: func, results_gv: results, results_1_gv: results_1})

if __name__ == "__main__":
    DataflowUseInplaceCalls()(mod)

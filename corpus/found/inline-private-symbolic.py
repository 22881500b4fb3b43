# ill-formed: Var n is not defined.

import tvm
from tvm import relax
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op
from tvm.relax.transform import InlinePrivateFunctions
from tvm.script import relax as R

AnyType = getattr(relax, "ObjectStructInfo", relax.ObjectType)
FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
StringImm = getattr(relax, "StringImm", None) or tvm.ir.StringImm
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def dtype_value(dtype):
    if hasattr(relax, "DataTypeImm"):
        return relax.DataTypeImm(dtype)
    return tvm.ir.GenericConst(tvm.DataType(dtype), relax.AnyType())

m = tirx.Var("m", "int64")
func_gv = tvm.ir.GlobalVar("func")
x0 = relax.Var("x0", R.Tensor((m, 4), "float32"))
v7 = relax.Var("v7", R.Tensor((m, 4), "float32"))
m_1 = tirx.Var("m", "int64")
ty = TensorType((m_1, 4), "float32")
func_v6_gv = typed(tvm.ir.GlobalVar("func_v6"), FuncType([ty], R.Tensor((m_1, 4), "float32")))
func = relax.Function(
    [x0],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(v7, typed(
            relax.Call(func_v6_gv, [x0]),
            R.Tensor((m, 4), "float32"),
        ))])],
        v7,
    ),
    type_of(v7),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(v7))

shape = relax.ShapeExpr([m_1, 4])
z = relax.Var("z", ty)
alloc1 = relax.Var("alloc1", TensorType(shape, "float32"))
func_v6 = relax.Function(
    [z],
    relax.SeqExpr(
        [relax.BindingBlock([bind(alloc1, relax.Call(
            Op.get("relax.builtin.alloc_tensor"),
            [shape, dtype_value("float32"), prim_value(0), StringImm("global")],
            None,
            [TensorType(shape, "float32")],
        ))])],
        alloc1,
    ),
    type_of(alloc1),
)
set_type(func_v6.body, type_of(alloc1))

mod = tvm.IRModule({func_gv: func, func_v6_gv: func_v6})
set_type(func_gv, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        InlinePrivateFunctions(),
    ]
    the_pass = passes[0]

    import tvm_ffi

    result = apply(mod)
    relax.analysis.well_formed(result)
    tvm.s_tir.analysis.verify_well_formed(result)
    functions = {gvar.name_hint: gvar for gvar in result.functions}
    for gvar, func in result.functions_items():
        symbol = None if func.attrs is None else func.attrs.get("global_symbol")
        assert symbol in (None, gvar.name_hint), f"{gvar}: the global_symbol is {symbol!r}"
        used = []
        tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, used.append))
        for other in used:
            defined = functions.get(other.name_hint)
            assert defined is not None and defined.same_as(other), f"{gvar} uses {other}, no function"

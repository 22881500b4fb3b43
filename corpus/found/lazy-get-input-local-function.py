# ill-formed: Var x0 is not defined.

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LazyGetInput
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

shape = relax.ShapeExpr([3, 4, 3])
ty = TensorType(shape, "float32")
func_gv = typed(tvm.ir.GlobalVar("func"), FuncType([ty], R.Tensor((3, 4, 3), "float32")))
x0 = relax.Var("x0", ty)
v3 = relax.Var("v3", R.Tensor((3, 4, 3), "float32"))
z = relax.Var("z", ty)
v2 = relax.Var("v2", TensorType(shape, "float32"))
expr = relax.Function(
    [z],
    relax.SeqExpr(
        [relax.BindingBlock([bind(v2, relax.op.nn.relu(z)), bind(v3, relax.op.add(v2, x0))])],
        v3,
    ),
    type_of(v3),
)
set_type(expr.body, type_of(v3))

v4 = relax.Var("v4", type_of(expr))
func = relax.Function(
    [x0],
    relax.SeqExpr([relax.BindingBlock([relax.VarBinding(v4, expr)])], x0),
    type_of(x0),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(x0))

mod = tvm.IRModule({func_gv: func})


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LazyGetInput(),
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

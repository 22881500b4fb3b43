# ill-formed: Var v12 is not defined.

import tvm
from tvm import relax
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import LazySetOutput
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

m = tirx.Var("m", "int64")
shape = relax.ShapeExpr([m])
ty = TensorType(None, "float32", ndim=1)
x0 = relax.Var("x0", TensorType(shape, "float32"))
v12 = relax.Var("v12", ty)
v10 = relax.Var("v10", R.Tensor((m,), "float32"))
v11 = relax.Var("v11", TensorType(shape, "float32"))
func = relax.Function(
    [x0],
    relax.SeqExpr(
        [relax.BindingBlock([bind(v12, relax.If(
            relax.const(False, "bool"),
            typed(
                relax.SeqExpr([relax.BindingBlock([bind(v10, relax.op.add(x0, x0))])], v10),
                ty,
            ),
            typed(
                relax.SeqExpr([relax.BindingBlock([bind(v11, relax.op.abs(x0))])], v11),
                TensorType(None, "float32", ndim=1),
            ),
        ))])],
        v12,
    ),
    type_of(v12),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(v12))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LazySetOutput(),
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

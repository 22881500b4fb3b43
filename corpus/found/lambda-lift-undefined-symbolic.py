# ill-formed: Var n is not defined.

import tvm
from tvm import relax
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import LambdaLift
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

n = tirx.Var("n", "int64")
expr = ((n * 4) + 1)
m = tirx.Var("m", "int64")
v17 = relax.Var("v17", R.Tensor((expr, m, m), "float32"))
z = relax.Var("z", R.Tensor((expr, m, m), "float32"))
expr_1 = relax.Function(
    [z],
    relax.SeqExpr([relax.BindingBlock([bind(v17, relax.op.maximum(z, z))])], v17),
    TensorType(None, "float32", ndim=3),
)
set_type(expr_1.body, type_of(v17))

x4 = relax.Var("x4", R.Tensor((n, 3, n, n), "float32"))
v18 = relax.Var("v18", type_of(expr_1))
func = relax.Function(
    [x4],
    relax.SeqExpr([relax.BindingBlock([relax.VarBinding(v18, expr_1)])], v18),
    type_of(v18),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(v18))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LambdaLift(),
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

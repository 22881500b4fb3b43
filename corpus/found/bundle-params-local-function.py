# BundleModelParams: parameters that a local function uses are not replaced there

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import BundleModelParams
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


ty = TensorType((4, 1, 4), "float32")
v24 = relax.Var("v24", R.Tensor((4, 1, 4), "float32"))
z = relax.Var("z", ty)
v23 = relax.Var("v23", R.Tensor((4, 1, 4), "float32"))
x3 = relax.Var("x3", ty)
expr = relax.Function(
    [z],
    relax.SeqExpr(
        [
            relax.BindingBlock(
                [
                    bind(v23, relax.op.multiply(z, z)),
                    bind(v24, relax.op.add(v23, x3)),
                ]
            )
        ],
        v24,
    ),
    type_of(v24),
)
set_type(expr.body, type_of(v24))

v25 = relax.Var("v25", type_of(expr))
func = relax.Function(
    [x3],
    relax.SeqExpr([relax.BindingBlock([relax.VarBinding(v25, expr)])], v25),
    type_of(v25),
    True,
    DictAttrs({"num_input": 0, "global_symbol": "func"}),
)
set_type(func.body, type_of(v25))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        BundleModelParams(),
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
            assert defined is not None and defined.same_as(other), (
                f"{gvar} uses {other}, no function"
            )

# ill-formed: Var n is not defined.

import tvm
from tvm import relax
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import LazyGetInput
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

n = tirx.Var("n", "int64")
x2 = relax.Var("x2", R.Tensor((n, 3, 3), "float32"))
lv16 = relax.Var("lv16", R.Tensor((((n * 4) + 1),), "bool"))
func_2 = relax.Function(
    [x2, lv16],
    relax.SeqExpr([], lv16),
    type_of(lv16),
    True,
    DictAttrs({"global_symbol": "func_2"}),
)
set_type(func_2.body, type_of(lv16))

mod = tvm.IRModule({"func_2": func_2})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


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

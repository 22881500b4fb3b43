# ill-formed: GlobalVar I.GlobalVar("shape_func") is not defined.

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Op
from tvm.relax.transform import FoldConstant
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x3 = relax.Var("x3", R.Tensor((3, 4, 4), "float32"))
gv22 = relax.Var("gv22", TensorType(None, "float32", ndim=3))
func_1 = relax.Function(
    [x3],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv22, relax.Call(Op.get("relax.dynamic_strided_slice"), [
            x3,
            relax.const(np.array([-1, 0, 0], "int64"), "int64"),
            relax.const(np.array([-9, 1, 9], "int64"), "int64"),
            relax.const(np.array([-1, 1, 1], "int64"), "int64"),
        ]))])],
        gv22,
    ),
    type_of(gv22),
)
set_type(func_1.body, type_of(gv22))

mod = tvm.IRModule({"func_1": func_1})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FoldConstant(),
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

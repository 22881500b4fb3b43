# ill-formed: Impure function call fset_output(0, lv0) occurs within a dataflow block.

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LazySetOutput
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x0 = relax.Var("x0", R.Tensor((3, 3, 3), "float32"))
lv8 = relax.Var("lv8", R.Tensor((3, 3, 1), "float32"))
main = relax.Function(
    [x0],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(lv8, relax.Call(Op.get("relax.mean"), [x0], make_node(
            "relax.attrs.StatisticalAttrs",
            axis=[-1],
            keepdims=True,
        )))])],
        lv8,
    ),
    type_of(lv8),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(lv8))

mod = tvm.IRModule({"main": main})
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

# a second run changes the result: more bindings

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LiftTransformParams
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

x0 = relax.Var("x0", R.Tensor((), "float64"))
main = relax.Function([x0], relax.SeqExpr([], x0), type_of(x0), True, DictAttrs(
    {"num_input": 1, "global_symbol": "main"},
))
set_type(main.body, type_of(x0))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LiftTransformParams(shared_transform=True),
    ]
    the_pass = passes[0]

    once = apply(mod)
    twice = apply(once)
    relax.analysis.well_formed(twice)
    tvm.ir.assert_structural_equal(once, twice, map_free_vars=True)

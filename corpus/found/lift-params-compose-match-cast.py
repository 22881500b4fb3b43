# a second run changes the result: more bindings
#
# pass: LiftTransformParams
# oracle: idempotent
# fingerprint: ["idempotent", "LiftTransformParams", "a second run changes the result: more bindings"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: StructuralEqual check failed, caused by lhs at <root>.functions<list>.body.blocks[<missing:<n>>]:
# promise: tests/python/relax/test_transform_lift_transform_params.py::test_lift_transform_is_idempotent asserts equality of one round and two

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

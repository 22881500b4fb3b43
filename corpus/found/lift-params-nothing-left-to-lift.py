# LiftTransformParams: a second run finds nothing left to lift and changes the module all the same: an alias in the shared transform_params goes

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LiftTransformParams
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x0 = relax.Var("x0", R.Tensor((2, 3), "float32"))
w2 = relax.Var("w2", R.Tensor((3,), "float32"))
gv11 = relax.Var("gv11", R.Tensor((3,), "float32"))
gv12 = relax.Var("gv12", R.Tensor((2, 3), "float32"))
model = relax.Function(
    [x0, w2],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(gv11, relax.op.multiply(w2, w2)),
            bind(gv12, relax.op.add(x0, gv11)),
        ])],
        gv12,
    ),
    type_of(gv12),
    True,
    DictAttrs({"num_input": 1, "global_symbol": "model"}),
)
set_type(model.body, type_of(gv12))

mod = tvm.IRModule({"model": model})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={'relax.lift_transform_params.consume_params': True}), tvm.target.Target("llvm"):
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

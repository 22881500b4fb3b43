# AttributeError: 'TupleType' object has no attribute 'dtype'

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FuseTransposeMatmul
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x0 = relax.Var("x0", R.Tensor((2, 3), "float32"))
w1 = relax.Var("w1", R.Tensor((3, 3), "float32"))
gv0 = relax.Var("gv0", R.Tensor((3, 3), "float32"))
gv1 = relax.Var("gv1", R.Tensor((2, 3), "float32"))
model = relax.Function(
    [x0, w1],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(gv0, relax.Call(Op.get("relax.permute_dims"), [w1], make_node(
                "relax.attrs.PermuteDimsAttrs",
                axes=None,
            ))),
            bind(gv1, relax.Call(Op.get("relax.matmul"), [x0, gv0], make_node(
                "relax.attrs.MatmulAttrs",
                out_dtype=None,
            ))),
        ])],
        gv1,
    ),
    type_of(gv1),
    True,
    DictAttrs({"global_symbol": "model"}),
)
set_type(model.body, type_of(gv1))

mod = tvm.IRModule({"model": model})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FuseTransposeMatmul(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

# RewriteCUDAGraph: a field of a tuple that is written out where it is used, `(x, x)[1]`: 'Check failed: (tuple) is false'

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import RewriteCUDAGraph
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

x = relax.Var("x", R.Tensor((2,), "float32"))
gv = relax.Var("gv", R.Tensor((2,), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, relax.TupleGetItem(relax.Tuple([x, x]), 1))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        RewriteCUDAGraph()(mod)

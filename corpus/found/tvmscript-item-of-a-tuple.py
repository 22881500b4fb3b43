# TVMScript: an item of a tuple that is written out, (x,)[0], is read as what Python makes of it: x

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

x = relax.Var("x", R.Tensor((2,), "float32"))
gv = relax.Var("gv", R.Tensor((2,), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, relax.TupleGetItem(relax.Tuple([x]), 0))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})

if __name__ == "__main__":
    result = mod
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

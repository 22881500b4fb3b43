# TVMScript: the parser ignores the type that is written for the variable of an If, where it is wider than that of the branches

import tvm
from tvm import relax
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info

wide = R.Tensor(dtype="float32", ndim=2)
c = relax.Var("c", R.Tensor((), "bool"))
x = relax.Var("x", R.Tensor((2, 3), "float32"))
y = relax.Var("y", wide)
branches = [relax.SeqExpr([], x), relax.SeqExpr([], x)]
value = relax.If(c, *branches)
body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, value)])], y)
for expr in [*branches, value, body]:
    set_type(expr, wide)
main = relax.Function([c, x], body, wide).with_attr("global_symbol", "main")
mod = tvm.IRModule({"main": main})

if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    tvm.ir.assert_structural_equal(mod, relax.transform.Normalize()(mod))
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)

# TVMScript of a function that is annotated to return R.Any: it returns a tensor when read back

import tvm
from tvm import relax
from tvm.script import relax as R

x = relax.Var("x", R.Tensor((2,), "float32"))
func = relax.Function([x], relax.SeqExpr([], x), getattr(relax, "AnyType", None)())
mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)

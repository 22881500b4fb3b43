# LazyGetInput: the printer writes T.int64 for a prim parameter inside R.Callable, where the parser takes it for a variable

import os
import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LazyGetInput
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

x0 = relax.Var("x0", R.Tensor((2, 3), "float32"))
func = relax.Function(
    [x0],
    relax.SeqExpr([], x0),
    type_of(x0),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(x0))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    passes = [
        LazyGetInput(),
    ]
    the_pass = passes[0]

    result = apply(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

# PatternMatchingRewriter: a rule for (3, 3) rewrites a call on (3, n)

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax import dpl
from tvm.script import relax as R


def difference_module(shape: tuple[int, ...], dtype: str) -> tvm.IRModule:
    """No dataflow blocks, as in the docstring of `from_module`."""
    builder = relax.BlockBuilder()
    for name in ("pattern", "replacement"):
        x, y = (relax.Var(each, relax.TensorType(shape, dtype)) for each in "xy")
        with builder.function(name, [x, y]):
            if name == "pattern":
                result = relax.op.subtract(x, y)
            else:
                result = relax.op.add(x, builder.emit(relax.op.negative(y)))
            builder.emit_func_output(builder.emit(result))
    return builder.finalize()


set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

n = tirx.Var("n", "int64")
x = relax.Var("x", R.Tensor((3, n), "float32"))
gv = relax.Var("gv", R.Tensor((3, n), "float32"))
main = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.op.subtract(x, x))])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    args = [tvm.runtime.tensor(np.array([[ 1.,  0., -2., -1.], [-3., -3., -3., -2.], [ 2.,  1.,  3.,  0.]], "float32"))]
    machine = relax.VirtualMachine(relax.build(dpl.PatternMatchingRewriter.from_module(difference_module((3, 3), 'float32'))(mod), "llvm"), tvm.cpu())
    actual = machine['main'](*args)

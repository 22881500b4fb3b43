# TVMScript: R.grad.take_backward is printed with mode, which the parser's function does not take

import os

import tvm
from tvm import relax
from tvm.script import relax as R

grad = relax.Var("grad", R.Tensor((2,), "float32"))
x = relax.Var("x", R.Tensor((4,), "float32"))
indices = relax.Var("indices", R.Tensor((2,), "int64"))
bb = relax.BlockBuilder()
with bb.function("main", [grad, x, indices]):
    gv = bb.emit(relax.op.grad.take_backward(grad, x, indices, axis=0))
    bb.emit_func_output(gv)
mod = bb.get()


if __name__ == "__main__":
    # TVM's excepthook does not show a DiagnosticError otherwise.
    os.environ["TVM_BACKTRACE"] = "1"
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)

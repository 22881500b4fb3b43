# InternalError: Check failed: (tensor_ty->shape.has_value()) is false: Missing shape when building zeros tuple.

import tvm
from tvm.relax.transform import Gradient
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor(dtype="float32", ndim=1), x1: R.Tensor((), dtype="float32")) -> R.Tuple(R.Tensor((5,), dtype="int32"), R.Tensor((), dtype="float32")):
        with R.dataflow():
            gv22: R.Tensor((5,), dtype="int32") = R.arange(1, 11, 2, dtype="int32")
            R.output(gv22)
        return (gv22, x1)


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        Gradient('main', target_index=1),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

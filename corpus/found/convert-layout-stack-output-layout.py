# ConvertLayout: the output layout of InferLayoutStack names its new dimension S, which no later step finds

import tvm
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def func(x1: R.Tensor((3, 3, 3), dtype="uint8")) -> R.Tensor((3, 3, 3, 3), dtype="uint8"):
        with R.dataflow():
            gv4: R.Tensor((3, 3, 3, 3), dtype="uint8") = R.stack((x1, x1, x1), axis=1)
            R.output(gv4)
        return gv4


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

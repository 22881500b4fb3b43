# ConvertLayout: FindAxis divides by the rank of a scalar (stack of rank 0)

import tvm
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def func_1(x0: R.Tensor((), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        with R.dataflow():
            gv13: R.Tensor((1,), dtype="float32") = R.stack((x0,), axis=0)
            R.output(gv13)
        return gv13


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({}, layout_cb=lambda call: {"relax.nn.conv2d": ["NHWC", "OHWI", "NHWC"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

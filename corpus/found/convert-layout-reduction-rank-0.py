# ConvertLayout: the layout of a scalar is the text __undef__, which the next reduction reads as dimensions

import tvm
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv0: R.Tensor((), dtype="float32") = R.sum(x0, axis=None, keepdims=False)
            lv1: R.Tensor((), dtype="float32") = R.sum(lv0, axis=None, keepdims=False)
            R.output(lv1)
        return lv1


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

# ConvertLayout: InferLayoutPermuteDims takes negative axes as letters of a layout

import tvm
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def func(x4: R.Tensor((3, 4), dtype="float32")) -> R.Tensor((4, 3), dtype="float32"):
        with R.dataflow():
            gv5: R.Tensor((4, 3), dtype="float32") = R.permute_dims(x4, axes=[-1, -2])
            R.output(gv5)
        return gv5


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv1d": ["NWC", "OWI"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

# ConvertLayout: InferLayoutSplit expects a tuple, but split into one section is a tensor

import tvm
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def func_1(gv4: R.Tensor((2, 3), dtype="int32")) -> R.Tensor((2, 3), dtype="int32"):
        with R.dataflow():
            lv15: R.Tensor((2, 3), dtype="int32") = R.split(gv4, indices_or_sections=1, axis=1)
            R.output(lv15)
        return lv15


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"], "relax.nn.conv3d": ["NCDHW", "OIDHW"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

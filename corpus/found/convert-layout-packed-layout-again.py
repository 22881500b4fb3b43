# ConvertLayout: a conv2d that has a packed layout already (NCHW4c) is compared with the unpacked layout

import tvm
from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def func(x0: R.Tensor((4, 4, 4, 4), dtype="float32"), x1: R.Tensor((4, 4, 1, 1), dtype="float32")) -> R.Tensor((4, 4, 4, 4), dtype="float32"):
        with R.dataflow():
            lv2: R.Tensor((4, 4, 4, 4), dtype="float32") = R.nn.conv2d(x0, x1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            R.output(lv2)
        return lv2


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}),
    ]
    the_pass = passes[0]

    once = apply(mod)
    twice = apply(once)
    relax.analysis.well_formed(twice)
    tvm.ir.assert_structural_equal(once, twice, map_free_vars=True)

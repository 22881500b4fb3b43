# TypeError: Binary operators must have the same datatype for both operands.  However, R.add(metadata["ir.GenericConst"][0], T.float32(1.0000000000000001e-05))

import tvm
from tvm.relax.transform import FoldBatchnormToConv2D
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def func_2(x6: R.Tensor((1, 3, 8, 8), dtype="float64")) -> R.Tensor((1, 4, 8, 8), dtype="float64"):
        with R.dataflow():
            gv39: R.Tensor((1, 4, 8, 8), dtype="float64") = R.nn.conv2d(x6, R.const([[[[1.0]], [[1.0]], [[1.0]]], [[[1.0]], [[1.0]], [[1.0]]], [[[1.0]], [[1.0]], [[1.0]]], [[[1.0]], [[1.0]], [[1.0]]]], "float64"), strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            gv40: R.Tuple(R.Tensor((1, 4, 8, 8), dtype="float64"), R.Tensor((4,), dtype="float64"), R.Tensor((4,), dtype="float64")) = R.nn.batch_norm(gv39, R.const([3.0, 2.0, 1.0, 3.0], "float64"), R.const([2.0, 2.0, 2.0, 2.0], "float64"), R.const([1.0, 3.0, 2.0, 1.0], "float64"), R.const([2.0, 3.0, 1.0, 2.0], "float64"), axis=1, epsilon=1.0000000000000001e-05, center=True, scale=True, momentum=0.10000000000000001, training=False)
            gv41: R.Tensor((1, 4, 8, 8), dtype="float64") = gv40[0]
            R.output(gv39, gv40, gv41)
        return gv41


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FoldBatchnormToConv2D(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

# ToMixedPrecision: the operand of layout_transform becomes float16, its pad_value stays float32

from tvm.relax.transform import ToMixedPrecision
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def func_1(x3: R.Tensor((4, 1, 3), dtype="float32"), v30: R.Tensor((1, 4, 1), dtype="float32")) -> R.Tensor((1, 4, 1, 2), dtype="float32"):
        with R.dataflow():
            lv31: R.Tensor((1, 4, 1), dtype="float32") = R.nn.conv1d_transpose(v30, x3, strides=[1], padding=[1, 1], output_padding=[0], dilation=[1], groups=4, data_layout="NCW", kernel_layout="IOW", out_layout="NCW", out_dtype=None)
            lv32: R.Tensor((1, 4, 1, 2), dtype="float32") = R.layout_transform(lv31, index_map=T.index_map(lambda i, j, k: (i // 2, j, k, i % 2)), pad_value=T.float32(0.0))
            R.output(lv32)
        return lv32


if __name__ == "__main__":
    ToMixedPrecision(out_dtype='float16')(mod)

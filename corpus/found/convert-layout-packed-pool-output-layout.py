# ConvertLayout: a pooling with an out_layout of its own behind a convolution that gets a packed layout: 'DataflowBlock Pass should not rewrite or delete any global-scope Var'

from tvm import relax
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 4, 2, 2), "float32"), w: R.Tensor((2, 4, 1, 1), "float32")) -> R.Tensor((2, 1, 1, 2), "float32"):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            z = R.nn.max_pool2d(y, pool_size=[2, 2], layout="NCHW", out_layout="NHWC")
            R.output(z)
        return z


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    ConvertLayout({"relax.nn.conv2d": ["NCHW2c", "OIHW2o"]})(mod)

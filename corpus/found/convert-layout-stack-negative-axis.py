# ConvertLayout: InferLayoutStack inserts the new dimension at a negative axis

import tvm
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor(("n", 8, "n"), dtype="float16")) -> R.Tensor(("n", 1, 8, "n"), dtype="float16"):
        with R.dataflow():
            lv2: R.Tensor((n, 1, 8, n), dtype="float16") = R.stack((x0,), axis=-3)
            R.output(lv2)
        return lv2


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI", "NHWC"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

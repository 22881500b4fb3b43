# TypeError: Cannot convert from type `ir.IntImm` to `Array<ir.Expr>`

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def func(x0: R.Tensor((3, 1, 4), dtype="float32")) -> R.Tensor((3, 1, 4), dtype="float32"):
        with R.dataflow():
            lv2: R.Tensor((3, 1, 4), dtype="float32") = R.nn.adaptive_avg_pool1d(x0, output_size=None, layout="NCW", out_layout="NCW")
            R.output(lv2)
        return lv2


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LegalizeOps(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

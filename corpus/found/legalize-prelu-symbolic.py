# ValueError: Expect value to be constant int

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor(("n", 8, "n"), dtype="float16"), x1: R.Tensor(("n",), dtype="float16")) -> R.Tensor(("n", 8, "n"), dtype="float16"):
        with R.dataflow():
            lv0: R.Tensor((n, 8, n), dtype="float16") = R.nn.prelu(x0, x1, axis=0)
            R.output(lv0)
        return lv0


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

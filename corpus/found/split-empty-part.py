# LegalizeOps: split of an axis without elements into two sections: "split_indices must be sorted"

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((0, 0), dtype="float32")) -> R.Tuple(R.Tensor((0, 0), dtype="float32"), R.Tensor((0, 0), dtype="float32")):
        with R.dataflow():
            gv4: R.Tuple(R.Tensor((0, 0), dtype="float32"), R.Tensor((0, 0), dtype="float32")) = R.split(x0, indices_or_sections=2, axis=0)
            R.output(gv4)
        return gv4


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

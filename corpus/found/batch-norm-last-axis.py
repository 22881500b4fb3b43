# batch_norm in training along the axis -1: list.remove(x): x not in list

import tvm
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((2, 3), dtype="float32"), x1: R.Tensor((3,), dtype="float32"), x2: R.Tensor((3,), dtype="float32"), x3: R.Tensor((3,), dtype="float32"), x4: R.Tensor((3,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")):
        with R.dataflow():
            gv: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = R.nn.batch_norm(x0, x1, x2, x3, x4, axis=-1, epsilon=1.0000000000000001e-05, center=True, scale=True, momentum=0.10000000000000001, training=True)
            R.output(gv)
        return gv


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

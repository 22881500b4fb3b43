# DecomposeOpsForTraining: batch_norm with the axis -1: the mean is taken over all axes, and batch_norm refuses it

import tvm
from tvm.relax.transform import DecomposeOpsForTraining
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 8), "float32"), w: R.Tensor((8,), "float32")):
        with R.dataflow():
            gv = R.nn.batch_norm(x, w, w, w, w, axis=-1)
            R.output(gv)
        return gv



def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        DecomposeOpsForTraining(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

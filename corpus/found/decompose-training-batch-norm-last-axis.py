# DecomposeOpsForTraining: batch_norm with the axis -1: the mean is taken over all axes, and batch_norm refuses it
#
# pass: DecomposeOpsForTraining
# oracle: crash
# fingerprint: ["crash", "DecomposeOpsForTraining", "ValueError", "<node> requires the input moving_mean to have as many dimensions as the length of input axes. However, the given one has ndim <n>, which is other than the length of axes <n>"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: <node> requires the input moving_mean to have as many dimensions as the length of input axes. However, the given one has ndim <n>, which is other than the length of axes <n>
# promise: docstring of relax.op.nn.batch_norm: 'Specifying -1 sets the channel axis to be the last item in the input shape'; docstring of DecomposeOpsForTraining: 'Decompose composite operators that are composed by other operators during training'; docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'

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

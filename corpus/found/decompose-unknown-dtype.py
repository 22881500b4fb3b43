# DecomposeOpsForTraining: batch_norm of tensors of unknown dtype: 'Back optional access'

from tvm.relax.transform import DecomposeOpsForTraining
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2)), y: R.Tensor((2,))) -> R.Tuple(R.Tensor((2, 2)), R.Tensor((2,)), R.Tensor((2,))):
        gv = R.nn.batch_norm(x, y, y, y, y, axis=1)
        return gv


if __name__ == "__main__":
    DecomposeOpsForTraining()(mod)

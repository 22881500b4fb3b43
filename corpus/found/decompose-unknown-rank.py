# DecomposeOpsForTraining: batch_norm of a tensor of unknown rank

from tvm import relax
from tvm.relax.transform import DecomposeOpsForTraining
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(dtype="float32"), y: R.Tensor((2,), "float32")) -> R.Tuple(R.Tensor(dtype="float32"), R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
        gv = R.nn.batch_norm(x, y, y, y, y, axis=1)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    DecomposeOpsForTraining()(mod)

# VMShapeLower: cumsum without an axis of a tensor of unknown shape has the rank of its operand, not 1

from tvm import relax
from tvm.relax.transform import VMShapeLower
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def f(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        return x

    @R.function
    def main(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        y = R.reshape(x, R.shape([2, n]))
        z = R.cumsum(y)
        w = mod.f(z)
        return w


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    VMShapeLower()(mod)

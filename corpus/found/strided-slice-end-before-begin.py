# strided_slice of 4 elements from 3 to 1: its type has -2 elements, and its legalization refuses it

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.strided_slice(x, axes=[0], begin=[3], end=[1])
        return y


if __name__ == "__main__":
    LegalizeOps()(mod)

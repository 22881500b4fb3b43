# ValueError: Var n is not defined.

import tvm
from tvm import relax
from tvm.relax.transform import BindSymbolicVars
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Shape(["n"]), y: R.Tensor(dtype="float32", ndim=1)
    ) -> R.Tensor(dtype="float32", ndim=1):
        n = T.int64()

        @R.function
        def local(a: R.Tensor((n * 2,), "float32")) -> R.Tensor((n * 2,), "float32"):
            return y

        return y


if __name__ == "__main__":
    renamed = tvm.tirx.Var("renamed", "int64")
    relax.analysis.well_formed(BindSymbolicVars({"n": renamed}, "main")(mod))

# AllocateWorkspace: behind an If, a tensor of symbolic size becomes one of unknown shape, and the type inference of eye_like reads the shape that is not there: 'Back optional access'

from tvm import relax
from tvm.relax.transform import AllocateWorkspace
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "tensorrt", "WorkspaceSize": 64})
        return x

    @R.function
    def main(x: R.Tensor(("n", "n"), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
        ("n", "n"), "float32"
    ):
        n = T.int64()
        if c:
            y = R.negative(x)
        else:
            y = R.exp(x)
        z = R.eye_like(y)
        return z


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    AllocateWorkspace()(mod)

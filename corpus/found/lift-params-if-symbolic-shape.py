# LiftTransformParams: behind an If, a tensor of symbolic shape becomes one of unknown shape: 'Back optional access'

from tvm import relax
from tvm.relax.transform import LiftTransformParams
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(c: R.Tensor((), "bool"), w: R.Tensor(("n", "n"), "float32")) -> R.Tensor(
        ("n", "n"), "float32"
    ):
        R.func_attr({"num_input": 0})
        if c:
            y = R.nn.relu(w)
        else:
            y = w
        z = R.eye_like(y)
        return z


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LiftTransformParams()(mod)

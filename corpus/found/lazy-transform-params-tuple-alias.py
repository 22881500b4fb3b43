# LazyTransformParams: the tuple of outputs is returned by a second name: AssertionError

import tvm.relax.op.vm
from tvm import relax
from tvm.relax.transform import LazyTransformParams
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor((2,), "float32"))) -> R.Tuple(R.Tensor((2,), "float32")):
        a = params[0]
        t = (a,)
        u = t
        return u


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    LazyTransformParams()(mod)

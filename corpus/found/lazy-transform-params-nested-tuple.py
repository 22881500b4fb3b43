# LazyTransformParams: an output that is a tuple itself is handed over after the weights in it were freed

import tvm.relax.op.vm
from tvm import relax
from tvm.relax.transform import LazyTransformParams
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main_transform_params(
        params: R.Tuple(R.Tensor((2,), "float32")),
    ) -> R.Tuple(R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
        a = params[0]
        t = ((a, a),)
        return t


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    text = LazyTransformParams()(mod).script()
    assert text.index("set_item") < text.index("kill_object"), "a weight is used after it was killed"

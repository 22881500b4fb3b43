# TVMScript: a number of int32 among the arguments is printed as 0 and read again as int64

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(
        x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")
    ) -> R.Tensor((2,), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.exp(w)
            gv = R.add(x, lv)
            R.output(gv)
        return gv


def apply(mod):
    consume = {"relax.lift_transform_params.consume_params": True}
    with tvm.transform.PassContext(config=consume):
        return relax.transform.LiftTransformParams(shared_transform=True)(mod)


if __name__ == "__main__":
    result = apply(mod)
    relax.analysis.well_formed(result)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

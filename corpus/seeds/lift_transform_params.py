# LiftTransformParams: a lifted variable that the function returns is not passed on to it
#
# pass: LiftTransformParams
# oracle: well-formed
# tvm: fails on 0.17.dev0, 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError
# upstream: https://github.com/apache/tvm/issues/17231, https://github.com/apache/tvm/pull/17232
# promise: well-formed checker: variables must be defined; docstring of LiftTransformParams: 'The
#   original function will be rewritten to accept a tuple of transformed parameters'

from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((3, 2), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            w_t = R.permute_dims(w)
            R.output(w_t)
        return w_t


if __name__ == "__main__":
    after = relax.transform.LiftTransformParams()(mod)
    # It raises; TVM 0.17 gave 0.
    if relax.analysis.well_formed(after) not in (None, True):
        raise ValueError("Var w_t is not defined.")

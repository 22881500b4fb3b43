# MergeCompositeFunctions: only main is grouped, then every function is rewritten
#
# pass: MergeCompositeFunctions
# oracle: crash
# tvm: fails on 0.17.dev0, 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (it_group != obj2group_.end())
# upstream: https://github.com/apache/tvm/issues/17210, https://github.com/apache/tvm/pull/17212
# promise: docstring: 'Group one or multiple composite functions created by FuseOpsByPattern into a
#   new function': no word of a function called main; docs/errors.rst: 'Internal check failures
#   often indicate that TVM reached a state that the implementation did not expect'

from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def composite(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "cutlass.relu", "Primitive": True})
        return R.nn.relu(x)

    @R.function
    def not_main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = mod.composite(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return x


if __name__ == "__main__":
    relax.transform.MergeCompositeFunctions()(mod)

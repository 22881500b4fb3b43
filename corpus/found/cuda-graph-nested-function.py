# RewriteCUDAGraph: with relax.backend.use_cuda_graph the pass dereferences a null pointer in every function that has a local function

import tvm
from tvm import relax
from tvm.relax.transform import RewriteCUDAGraph
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return y

        return inner(x)


def apply(mod):
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        return RewriteCUDAGraph()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)

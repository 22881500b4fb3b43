# RewriteCUDAGraph: a pure function gets an impure call

import tvm
from tvm import relax
from tvm.relax.transform import RewriteCUDAGraph
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "int64")) -> R.Tensor((2,), "int64"):
        gv = R.hint_on_device(R.const([1, 2], "int64"), R.device(1), "global")
        return x


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        relax.analysis.well_formed(RewriteCUDAGraph()(mod))

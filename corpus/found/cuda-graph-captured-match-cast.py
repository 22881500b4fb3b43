# RewriteCUDAGraph: what a captured call returns is not handed out of the lifted function when a match_cast takes it: 'Var gv is not defined'

import tvm
from tvm import relax
from tvm.relax.transform import RewriteCUDAGraph
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def main(w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 0})
        gv = R.call_packed("kernel", w, ty_args=R.Tensor(ndim=1, dtype="float32"))
        y = R.match_cast(gv, R.Tensor((4,), "float32"))
        return y


def apply(mod):
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        return RewriteCUDAGraph()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))

# RewriteCUDAGraph: a call of a function that is a parameter is captured, and the lifted function is not given the function: 'Var f is not defined'

import tvm
from tvm import relax
from tvm.relax.transform import RewriteCUDAGraph
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def main(
        f: R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32"), False),
        w: R.Tensor((4,), "float32"),
    ) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 1})
        gv = R.call_packed("kernel", w, ty_args=R.Tensor((4,), "float32"))
        gv1 = f(gv)
        gv2 = R.call_packed("vm.builtin.copy", gv1, ty_args=R.Tensor((4,), "float32"))
        return gv2


def apply(mod):
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        return RewriteCUDAGraph()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))

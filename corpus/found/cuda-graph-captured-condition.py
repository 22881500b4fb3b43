# RewriteCUDAGraph: a condition that is computed in a captured region: 'Var p is not defined'

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 1})
        p = R.call_packed("kernel", w, ty_args=R.Tensor((), "bool"))
        if p:
            y = R.call_packed("kernel", x, ty_args=R.Tensor((4,), "float32"))
        else:
            y = x
        return y


def apply(mod):
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        return relax.transform.RewriteCUDAGraph()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))

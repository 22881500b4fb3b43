# InternalError: Check failed: (depgroup != cur_group) is false: A cyclic dependency detected between the groups gv2 and gv1 are in.

import tvm
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def model(x0: R.Tensor((2, 3), dtype="float32"), w1: R.Tensor((3, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            gv0: R.Tensor((3, 3), dtype="float32") = R.permute_dims(w1, axes=None)
            gv1: R.Tensor((3, 3), dtype="float32") = gv0
            gv2: R.Tensor((2, 3), dtype="float32") = R.matmul(x0, gv1, out_dtype=None)
            R.output(gv0, gv1, gv2)
        return gv2


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FuseOpsByPattern([('dnnl.matmul', is_op('relax.matmul')(wildcard(), is_op('relax.permute_dims')(wildcard())))], annotate_codegen=True),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

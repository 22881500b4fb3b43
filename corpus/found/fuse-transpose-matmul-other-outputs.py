# AttributeError: 'TupleType' object has no attribute 'dtype'

import tvm
from tvm.relax.transform import FuseTransposeMatmul
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def model(x0: R.Tensor((2, 3), dtype="float32"), w1: R.Tensor((3, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            gv0: R.Tensor((3, 3), dtype="float32") = R.permute_dims(w1, axes=None)
            gv1: R.Tensor((2, 3), dtype="float32") = R.matmul(x0, gv0, out_dtype=None)
            R.output(gv0, gv1)
        return gv1


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FuseTransposeMatmul(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

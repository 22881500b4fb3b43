# TVMScript: a buffer with a layout that a PrimFunc allocates is printed without it, or read with another one

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), b: R.Tensor((3,), "float32")) -> R.Tensor((2, 4), "int64"):
        return R.bucketize(x, b)


def apply(mod):
    with tvm.target.Target("llvm"):
        return relax.backend.DispatchSortScan()(mod)


if __name__ == "__main__":
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
    result = apply(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

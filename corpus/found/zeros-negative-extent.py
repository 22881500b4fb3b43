# FoldConstant: zeros of the shape (-1,), whose type is inferred, raises std::bad_alloc

import tvm
from tvm.relax.transform import FoldConstant
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main() -> R.Tensor((-1,), dtype="int64"):
        with R.dataflow():
            gv: R.Tensor((-1,), dtype="int64") = R.zeros(R.shape([-1]), dtype="int64")
            R.output(gv)
        return gv


if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (3072 << 20, 3072 << 20))
        FoldConstant()(mod)

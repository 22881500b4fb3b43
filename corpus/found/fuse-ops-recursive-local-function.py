# FuseOps: a recursive local function with a dataflow block of its own, in a dataflow block

from tvm.relax.transform import FuseOps
from tvm.script import ir as I, relax as R

@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((2,), dtype="float32"), v10: R.Tensor((), dtype="float32")) -> R.Callable((R.Tensor((), dtype="float32"), R.Tensor((2,), dtype="float32")), R.Tensor((2,), dtype="float32"), True):
        with R.dataflow():
            @R.function
            def loop(count: R.Tensor((), dtype="float32"), z: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
                with R.dataflow():
                    v11: R.Tensor((2,), dtype="float32") = loop(v10, x0)
                    R.output(v11)
                return v11

            R.output(loop)
        return loop

if __name__ == "__main__":
    FuseOps(fuse_opt_level=4)(mod)

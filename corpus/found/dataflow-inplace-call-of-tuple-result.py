# DataflowUseInplaceCalls: a call whose result is a tuple, and a call that takes it: the tuple counts as one of its own fields, and AddCapturedIndices goes round until the stack is full

from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def func(x2: R.Tensor((2, 3), dtype="float32"), gv7: R.Tensor((3,), dtype="float32"), gv8: R.Tensor((2, 1), dtype="float32")) -> R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((2, 1), dtype="float32")):
        cls = mod
        with R.dataflow():
            gv14: R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((2, 1), dtype="float32")) = cls.results(x2, gv7, gv8)
            gv15: R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((2, 1), dtype="float32")) = cls.results_1(gv14)
            R.output(gv14, gv15)
        return gv15

    @R.function(private=True)
    def results(x0: R.Tensor((2, 3), dtype="float32"), gv7: R.Tensor((3,), dtype="float32"), gv8: R.Tensor((2, 1), dtype="float32")) -> R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((2, 1), dtype="float32")):
        return (gv7, gv8)

    @R.function(private=True)
    def results_1(x0: R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((2, 1), dtype="float32"))) -> R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((2, 1), dtype="float32")):
        return x0


if __name__ == "__main__":
    DataflowUseInplaceCalls()(mod)

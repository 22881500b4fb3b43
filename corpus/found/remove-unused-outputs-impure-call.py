# RemoveUnusedOutputs: a call of an impure function none of whose outputs is used is removed, and what it prints is lost

import tvm
from tvm import relax
from tvm.relax.transform import RemoveUnusedOutputs
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(pure=False, private=True)
    def report(x: R.Tensor((2,), "float32")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32")
    ):
        R.print(x, format="{}")
        return (x, x)

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = mod
        unused = cls.report(x)
        return x


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    result = RemoveUnusedOutputs()(mod)
    calls = [
        binding.value
        for block in result["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    ]
    assert calls, f"the call is lost: {result}"

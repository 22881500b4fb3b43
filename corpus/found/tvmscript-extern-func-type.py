# TVMScript: the type of an external function is not printed, and that of a view is read back as another one

import tvm
from tvm import relax
from tvm.relax.transform import LowerRuntimeBuiltin
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((1, 2), "float32"):
        R.func_attr({"relax.force_pure": True})
        return R.memory.view(x, R.shape([1, 2]))


def apply(mod):
    return LowerRuntimeBuiltin()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    result = apply(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

# TVMScript: a function with a layout_transform that is inlined twice: both calls have the same index map, and their script has two

import tvm
from tvm import relax
from tvm.relax.transform import InlinePrivateFunctions
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class before:
    @R.function(private=True)
    def f(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        y = R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=None)
        return y

    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        y = before.f(x)
        z = before.f(y)
        return z


mod = InlinePrivateFunctions()(before)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)

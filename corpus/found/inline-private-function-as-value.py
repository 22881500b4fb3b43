# InlinePrivateFunctions: a function of which a closure is made is removed

from tvm import relax
from tvm.relax.transform import InlinePrivateFunctions
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        return R.add(x, y)

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = mod
        closure = R.make_closure(cls.f, (x,))
        return closure


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(InlinePrivateFunctions()(mod))

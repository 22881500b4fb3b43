# InlinePrivateFunctions: a function of which a closure is made is removed
#
# pass: InlinePrivateFunctions
# oracle: well-formed
# fingerprint: ["well-formed", "InlinePrivateFunctions", "ill-formed", "GlobalVar <name> is not defined.", ""]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: GlobalVar <name> is not defined.
# promise: docstring of relax.analysis.well_formed: 'Check if the IRModule is well formed'; docstring of relax.op.make_closure: 'Create a closure with free variables and return the closure'

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

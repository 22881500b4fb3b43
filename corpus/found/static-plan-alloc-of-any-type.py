# StaticPlanBlockMemory: an allocation that is annotated as R.Any: 'Check not null: ty'

from tvm import relax
from tvm.relax.transform import StaticPlanBlockMemory
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function(pure=False)
    def main() -> R.Any:
        gv: R.Any = R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), 0, R.str("global"))
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    StaticPlanBlockMemory()(mod)

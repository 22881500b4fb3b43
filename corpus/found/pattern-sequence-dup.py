# dpl: a duplicate of `a ^ b` (used by) matches as `a >> b` (only used by)

from tvm.relax.dpl import PatternContext, is_op, wildcard
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(a)
            gv = R.add(a, b)
            R.output(gv)
        return gv


def matched(duplicate):
    a, b = (is_op(name)(wildcard(), add_constraint=False) for name in ("relax.exp", "relax.negative"))
    with PatternContext() as context:
        sequence = a ^ b
    if duplicate:
        with PatternContext() as context:
            sequence.dup()
    return context.match_dfb(mod["main"].body.blocks[0]) is not None


if __name__ == "__main__":
    assert matched(duplicate=False)
    assert matched(duplicate=True), "the pattern is matched, and its duplicate is not"

# CanonicalizeBindings: an element of a tuple of all elements of a result, in order, is left as it is

from tvm import relax
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((1, 2), "float32"):
        parts = R.split(x, 2, axis=0)
        first = parts[0]
        second = parts[1]
        repacked = (first, second)
        again = repacked[0]
        y = R.add(again, second)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    func = CanonicalizeBindings()(mod)["main"]
    values = {b.var.name: b.value for b in func.body.blocks[0].bindings}
    used = values["y"].args[0].name
    assert used != "again", "a use of an element of a tuple bound in the function is left"

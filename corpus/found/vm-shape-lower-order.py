# VMShapeLower: in which order dimensions are computed depends on addresses

import tvm
from tvm import relax
from tvm.relax.transform import VMShapeLower
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        return R.shape([n * 2, n * 3, n * 4, n * 5, n * 6, n * 7, n * 8, n * 9, n * 10, n * 11])


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    # All are kept, so that each has a variable n at another address.
    mods = [tvm.ir.load_json(tvm.ir.save_json(mod)) for _ in range(100)]
    texts = {VMShapeLower()(each)["shape_func"].script() for each in mods}
    assert len(texts) == 1, "equal modules give different results"

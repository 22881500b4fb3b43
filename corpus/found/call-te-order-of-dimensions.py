# LegalizeOps: in which order a PrimFunc takes dimensions depends on addresses

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Shape(["n", "m", "k"])) -> R.Tensor((3,), "int64"):
        n, m, k = T.int64(), T.int64(), T.int64()
        y = R.shape_to_tensor(x)
        return y


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    # All are kept, so that each has variables at other addresses.
    mods = [tvm.ir.load_json(tvm.ir.save_json(mod)) for _ in range(100)]
    texts = {LegalizeOps()(each)["main"].script() for each in mods}
    assert len(texts) == 1, "equal modules give different results"

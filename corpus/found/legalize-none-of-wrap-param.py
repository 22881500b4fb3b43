# LegalizeOps: wrap_param has no legalization, and no pass of the default pipeline takes it away

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            gv = R.wrap_param(x, "float32")
            R.output(gv)
        return gv


if __name__ == "__main__":
    try:
        relax.build(mod, tvm.target.Target("llvm"))
    except Exception as error:
        left = "R.wrap_param(" in relax.transform.LegalizeOps()(mod).script()
        assert not left, "LegalizeOps leaves R.wrap_param as it is, and the build fails"
        raise error

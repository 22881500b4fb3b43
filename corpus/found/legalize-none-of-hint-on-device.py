# LegalizeOps: hint_on_device has no legalization, and no pass of the default pipeline takes it away

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            gv = R.hint_on_device(x, tvm.cpu())
            R.output(gv)
        return gv


if __name__ == "__main__":
    try:
        relax.build(mod, tvm.target.Target("llvm"))
    except Exception as error:
        left = "R.hint_on_device(" in relax.transform.LegalizeOps()(mod).script()
        assert not left, "LegalizeOps leaves R.hint_on_device as it is, and the build fails"
        raise error

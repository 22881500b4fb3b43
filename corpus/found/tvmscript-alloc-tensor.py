# TVMScript: the printer writes ty_args for R.builtin.alloc_tensor, which the parser's function does not take

import os

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)


mod = tvm.transform.Sequential(
    [
        relax.transform.LegalizeOps(),
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
    ]
)(mod)


def apply(mod):
    return relax.transform.CallTIRRewrite()(mod)


if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
    result = apply(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

# AttachGlobalSymbol: a PrimFunc gets the prefixed global_symbol and keeps its old GlobalVar, which
# is the name that the VM looks for: "Cannot find PackedFunc zeros"
#
# pass: AttachGlobalSymbol
# oracle: well-formed
# tvm: fails on 0.17.dev0; fixed in 0.25.0.post1
# fails with: AssertionError
# upstream: https://github.com/apache/tvm/issues/17176, https://github.com/apache/tvm/pull/17202
# promise: include/tvm/ir/function.h, kGlobalSymbol: 'A unique global symbol'; docstring of
#   AttachGlobalSymbol: 'Attach global_symbol to Relax functions and TIR Primfuncs for codegen'

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    I.module_attrs({"system_lib_prefix": "hello_"})

    @R.function
    def main():
        with R.dataflow():
            gv = R.zeros((2,), "float32")
            R.output(gv)
        return gv


if __name__ == "__main__":
    after = relax.transform.AttachGlobalSymbol()(relax.transform.LegalizeOps()(mod))
    for var, func in after.functions_items():
        symbol = str(func.attrs["global_symbol"])
        assert symbol == var.name_hint, f"'{var.name_hint}' has the global_symbol '{symbol}'"
    built = relax.build(mod, tvm.target.Target("llvm"))
    result = relax.VirtualMachine(built, tvm.cpu())["main"]()
    np.testing.assert_array_equal(result.numpy(), np.zeros(2, "float32"))

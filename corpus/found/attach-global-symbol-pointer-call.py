# AttachGlobalSymbol: a renamed PrimFunc with a call that gives a pointer, as legalizing median makes: 'Cannot treat type `ir.Call` as type `ir.Expr`'
#
# pass: AttachGlobalSymbol
# oracle: crash
# fingerprint: ["crash", "AttachGlobalSymbol", "TypeError", "Cannot treat type `Call` as type `Expr`"]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: TypeError: Cannot treat type `Call` as type `Expr`
# promise: docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'; docstring of AttachGlobalSymbol: 'Attach global_symbol to Relax functions and TIR Primfuncs for codegen'

import tvm
from tvm.relax.transform import AttachGlobalSymbol, LegalizeOps
from tvm.script import ir as I, relax as R


@I.ir_module
class median:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tuple(R.Tensor((), "float32"), R.Tensor((), "int64")):
        with R.dataflow():
            gv = R.median(x, axis=[0])
            R.output(gv)
        return gv


with tvm.target.Target("llvm"):
    mod = LegalizeOps()(median)
mod = mod.with_attr("system_lib_prefix", "lib_")


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        AttachGlobalSymbol(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

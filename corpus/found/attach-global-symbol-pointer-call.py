# AttachGlobalSymbol: a renamed PrimFunc with a call that gives a pointer, as legalizing median makes: 'Cannot treat type `ir.Call` as type `ir.Expr`'

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

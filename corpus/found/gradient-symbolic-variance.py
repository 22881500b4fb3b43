# Gradient: variance and mean of a symbolic shape: 'int() argument must be a string, a bytes-like object or a real number, not Var'
#
# pass: Gradient
# oracle: crash
# fingerprint: ["crash", "Gradient", "TypeError", "int() argument must be a string, a bytes-like object or a real number, not <name>"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: TypeError: int() argument must be a string, a bytes-like object or a real number, not <name>
# promise: docstring of Gradient asks for one dataflow block and a scalar target only; docs/deep_dive/relax/abstraction.rst: 'First-class symbolic shape'

import tvm
from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            gv = R.variance(x)
            R.output(gv)
        return gv



def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        Gradient("main"),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

# Gradient: variance and mean of a symbolic shape: 'int() argument must be a string, a bytes-like object or a real number, not Var'

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

# FuseOpsByPattern: a value inside of a match leaves it in a tuple, and comes back into it: the group stands before what it needs

from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            t = (a, a)
            b = R.concat(t)
            c = R.split(b, 2)
            d = c[0]
            gv = R.multiply(a, d)
            R.output(gv)
        return gv


if __name__ == "__main__":
    product = is_op("relax.multiply")(is_op("relax.exp")(wildcard()), wildcard())
    relax.analysis.well_formed(FuseOpsByPattern([("x.mul", product)])(mod))

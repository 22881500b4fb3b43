# Gradient: a symbolic dimension among the arguments of an operator is looked up as if it were bound: 'key is not in Map'

from tvm.relax.transform import Gradient
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32")):
        n = T.int64()
        with R.dataflow():
            y = R.reshape(x, R.shape([n * 2]))
            z = R.sum(y)
            R.output(z)
        return z


if __name__ == "__main__":
    Gradient("main")(mod)

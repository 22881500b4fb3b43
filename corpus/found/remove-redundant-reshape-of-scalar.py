# RemoveRedundantReshape: a reshape of a scalar to a scalar is left

from tvm.relax.transform import RemoveRedundantReshape
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((), "float32")):
        with R.dataflow():
            gv = R.reshape(x, ())
            R.output(gv)
        return gv


if __name__ == "__main__":
    text = RemoveRedundantReshape()(mod).script()
    assert "R.reshape(" not in text, text

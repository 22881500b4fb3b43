# pixel_shuffle of a symbolic number of channels: type inference ends the process

from tvm import relax, tirx
from tvm.script import relax as R

if __name__ == "__main__":
    c = tirx.Var("c", "int64")
    x = relax.Var("x", R.Tensor((1, c, 2, 2), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(relax.op.nn.pixel_shuffle(x, 2))

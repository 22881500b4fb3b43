# pad of a tensor reshaped to a variable shape: type inference ends the process

from tvm import relax
from tvm.script import relax as R

if __name__ == "__main__":
    x = relax.Var("x", R.Tensor((4,), "float32"))
    shape = relax.Var("shape", R.Shape(ndim=2))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, shape]):
        bb.emit_func_output(relax.op.nn.pad(bb.emit(relax.op.reshape(x, shape)), [1, 1, 1, 1]))

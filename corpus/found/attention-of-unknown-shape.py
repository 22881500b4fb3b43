# attention of tensors of unknown shape: type inference ends the process

from tvm import relax
from tvm.script import relax as R

if __name__ == "__main__":
    x = relax.Var("x", R.Tensor(ndim=4, dtype="float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(relax.op.nn.attention(x, x, x))

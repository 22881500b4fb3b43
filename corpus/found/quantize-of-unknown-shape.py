# quantize of a tensor of unknown shape: Back optional access

from tvm import relax
from tvm.script import relax as R

if __name__ == "__main__":
    x = relax.Var("x", R.Tensor(ndim=2, dtype="float32"))
    scale = relax.Var("scale", R.Tensor((3,), "float32"))
    zero_point = relax.Var("zero_point", R.Tensor((3,), "int8"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, scale, zero_point]):
        bb.emit_func_output(relax.op.quantize(x, scale, zero_point, 1, "int8"))

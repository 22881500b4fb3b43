# type inference: the shape of a tensor is the DataflowVar that an operator is given for its shape

import tvm
from tvm import relax


def module() -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((1, 1), "float32"))
    sizes = relax.Var("sizes", relax.TensorType((2,), "int64"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, sizes]):
        with bb.dataflow():
            shape = bb.emit(relax.op.tensor_to_shape(sizes))
            wide = bb.emit(relax.op.broadcast_to(x, shape))
            result = bb.emit_output(relax.op.exp(wide))
        bb.emit_func_output(result)
    return bb.finalize()


mod = module()


if __name__ == "__main__":
    relax.analysis.well_formed(mod)

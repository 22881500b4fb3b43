# all_class_non_max_suppression of boxes of unknown shape: type inference ends the process

from tvm import relax
from tvm.script import relax as R

if __name__ == "__main__":
    boxes = relax.Var("boxes", R.Tensor(ndim=3, dtype="float32"))
    scores = relax.Var("scores", R.Tensor((1, 2, 3), "float32"))
    numbers = [relax.const(2, "int64"), relax.const(0.5, "float32"), relax.const(0.5, "float32")]
    bb = relax.BlockBuilder()
    with bb.function("main", [boxes, scores]):
        bb.emit_func_output(
            relax.op.vision.all_class_non_max_suppression(boxes, scores, *numbers)
        )

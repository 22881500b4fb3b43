"""Training: a loss, its gradients, and an optimizer that updates the parameters."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import F32, I64, const, linear, module, tensor, weights


def training_step() -> tvm.IRModule:
    """A perceptron on digits with a loss of cross entropy, and the function that Relax's automatic
    differentiation makes of it."""
    x, targets = tensor("x", (64, 784)), tensor("targets", (64,), I64)
    params = weights({"w1": (784, 128), "b1": (128,), "w2": (128, 10), "b2": (10,)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        w1, b1, w2, b2 = params
        hidden = bb.emit(op.nn.relu(op.add(op.matmul(x, w1), b1)))
        scores = bb.emit(op.nn.log_softmax(op.add(op.matmul(hidden, w2), b2)))
        return op.nn.nll_loss(scores, targets, reduction="mean")

    forward = module([x, targets, *params], body, name="loss")
    return relax.transform.Gradient("loss", require_grads=params)(forward)


def written_out_gradients() -> tvm.IRModule:
    """The gradients of a normalized linear layer as PyTorch's exporter writes a backward graph:
    sums over the batch, products with turned operands, masks in place of branches."""
    x, grad = tensor("x", (32, 256)), tensor("grad", (32, 128))
    weight, bias = weights({"weight": (128, 256), "bias": (128,)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        mean = bb.emit(op.mean(x, axis=[1], keepdims=True))
        centred = bb.emit(op.subtract(x, mean))
        scale = bb.emit(op.rsqrt(op.add(op.variance(x, axis=[1], keepdims=True), const(1e-5))))
        normal = bb.emit(op.multiply(centred, scale))
        out = bb.emit(op.add(linear(normal, weight), bias))
        passed = bb.emit(op.where(op.greater(out, const(0.0)), grad, op.zeros_like(grad)))
        weight_grad = bb.emit(op.matmul(op.permute_dims(passed), normal))
        bias_grad = bb.emit(op.sum(passed, axis=[0]))
        inner = bb.emit(op.matmul(passed, weight))
        along = bb.emit(op.mean(op.multiply(inner, normal), axis=[1], keepdims=True))
        less = bb.emit(op.subtract(inner, op.mean(inner, axis=[1], keepdims=True)))
        input_grad = bb.emit(op.multiply(op.subtract(less, op.multiply(normal, along)), scale))
        return relax.Tuple([input_grad, weight_grad, bias_grad])

    return module([x, grad, weight, bias], body, name="backward")


def optimizer_step() -> tvm.IRModule:
    """Adam with decoupled decay (Loshchilov and Hutter, 2019) over tuples of parameters, gradients
    and moments, as `relax.training` passes them, with the norm of all gradients bounded."""
    shapes = ((128, 256), (128,))
    tensors = [relax.TensorType(shape, F32) for shape in shapes]
    params, grads, first, second = (
        relax.Var(name, relax.TupleType(tensors)) for name in ("params", "grads", "m", "v")
    )
    step = tensor("step", (), I64)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        number = bb.emit(op.add(step, relax.const(1, I64)))
        power = bb.emit(op.astype(number, F32))
        fix1 = bb.emit(op.subtract(const(1.0), op.power(const(0.9), power)))
        fix2 = bb.emit(op.subtract(const(1.0), op.power(const(0.999), power)))
        squares = [bb.emit(op.sum(op.square(bb.emit(grads[at])))) for at in range(len(shapes))]
        norm = bb.emit(op.sqrt(op.add(*squares)))
        share = bb.emit(op.minimum(op.divide(const(1.0), op.add(norm, const(1e-6))), const(1.0)))
        changed: list[list[relax.Expr]] = [[], [], []]
        for at in range(len(shapes)):
            grad = bb.emit(op.multiply(bb.emit(grads[at]), share))
            old = bb.emit(params[at])
            m = bb.emit(
                op.add(op.multiply(const(0.9), bb.emit(first[at])), op.multiply(const(0.1), grad))
            )
            v = bb.emit(
                op.add(
                    op.multiply(const(0.999), bb.emit(second[at])),
                    op.multiply(const(0.001), op.square(grad)),
                )
            )
            root = bb.emit(op.add(op.sqrt(op.divide(v, fix2)), const(1e-8)))
            moved = bb.emit(op.divide(op.divide(m, fix1), root))
            decayed = bb.emit(op.add(moved, op.multiply(const(0.01), old)))
            new = bb.emit(op.subtract(old, op.multiply(const(0.001), decayed)))
            for group, each in zip(changed, (new, m, v), strict=True):
                group.append(each)
        return relax.Tuple([*(relax.Tuple(group) for group in changed), number])

    return module([params, grads, first, second, step], body, name="adam")

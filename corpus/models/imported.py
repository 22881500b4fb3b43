"""Graphs as importers leave them: arithmetic on shapes, parameters as constants, many results."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import F32, I64, const, linear, module, parameters, size, tensor, weights


def shape_arithmetic() -> tvm.IRModule:
    """`x.view(x.size(0), -1, 64)` as the ONNX importer leaves it: a shape as a tensor, its parts
    gathered and joined, a reshape to a shape known only then; parameters are constants."""
    n, m = size("n"), size("m")
    x = tensor("x", (n, m, 256))

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        shape = bb.emit(op.shape_to_tensor(op.shape_of(x)))
        batch = bb.emit(op.take(shape, relax.const(0, I64), axis=0))
        length = bb.emit(op.take(shape, relax.const(1, I64), axis=0))
        rows = bb.emit(op.multiply(length, relax.const(4, I64)))
        parts = [bb.emit(op.expand_dims(each, 0)) for each in (batch, rows)]
        wanted = bb.emit(op.concat([*parts, relax.const([64], I64)], axis=0))
        target = bb.emit(op.tensor_to_shape(wanted))
        known = bb.match_cast(target, relax.ShapeType([size("a"), size("b"), 64]))
        viewed = bb.emit(op.reshape(x, known))
        flat = bb.emit(op.add(op.matmul(viewed, parameters((64, 32))), parameters((32,), seed=1)))
        return op.nn.leakyrelu(flat, alpha=0.1)

    return module([x], body)


def exported_program() -> tvm.IRModule:
    """A program that torch.export captured: names of operators as ATen has them, defaults written
    out, masks from arange and comparison, indexing with tensors, a tuple of results."""
    n = size("s0")
    tokens = tensor("input_ids", (2, n), I64)
    embedding, gamma, beta, head = weights(
        {"embedding": (1000, 128), "gamma": (128,), "beta": (128,), "head": (1000, 128)}
    )

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        rows = bb.emit(op.take(embedding, op.reshape(tokens, (n * 2,)), axis=0))
        embedded = bb.emit(op.reshape(rows, (2, n, 128)))
        place = bb.emit(op.arange(0, n, 1, I64))
        before = bb.emit(op.less_equal(op.expand_dims(place, 0), op.expand_dims(place, 1)))
        empty = bb.emit(op.full((n, n), relax.const(float("-inf"), F32), F32))
        mask = bb.emit(op.where(before, op.zeros((n, n), F32), empty))
        scores = bb.emit(op.matmul(embedded, op.permute_dims(embedded, [0, 2, 1])))
        scaled = bb.emit(op.add(op.multiply(scores, const(0.0883883)), mask))
        mixed = bb.emit(op.matmul(op.nn.softmax(scaled, axis=-1), embedded))
        normal = bb.emit(op.nn.layer_norm(mixed, gamma, beta, axes=[-1], epsilon=1e-5))
        used = bb.emit(op.sum(op.astype(op.not_equal(tokens, relax.const(0, I64)), I64), axis=[1]))
        end = bb.emit(op.maximum(op.subtract(used, relax.const(1, I64)), relax.const(0, I64)))
        both = bb.emit(op.arange(0, 2, 1, I64))
        last = bb.emit(op.index_tensor(normal, [both, end]))
        logits = bb.emit(linear(last, head))
        return relax.Tuple([logits, bb.emit(op.argmax(logits, axis=-1)), normal])

    return module([tokens, embedding, gamma, beta, head], body, inputs=1)

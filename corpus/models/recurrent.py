"""Recurrent cells, unrolled as importers unroll them."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import const, linear, module, size, tensor, weights

STEPS = 3
"""The number of steps of a sequence."""


def gru() -> tvm.IRModule:
    """Gated recurrent units (Cho et al., 2014) over sequences of different lengths: steps past the
    end of a sequence keep its state."""
    n = size("n")
    x, state = tensor("x", (n, STEPS, 64)), tensor("state", (n, 128))
    lengths = tensor("lengths", (n, 1), "int64")
    params = weights({"input": (384, 64), "recurrent": (384, 128), "bias": (384,)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        inward, recurrent, bias = params
        h = state
        for at in range(STEPS):
            row = bb.emit(op.squeeze(op.take(x, relax.const([at], "int64"), axis=1), axis=[1]))
            new = bb.emit(op.split(op.add(linear(row, inward), bias), 3, axis=1))
            old = bb.emit(op.split(linear(h, recurrent), 3, axis=1))
            update = bb.emit(op.sigmoid(op.add(new[0], old[0])))
            reset = bb.emit(op.sigmoid(op.add(new[1], old[1])))
            proposed = bb.emit(op.tanh(op.add(new[2], op.multiply(reset, old[2]))))
            kept = bb.emit(op.multiply(op.subtract(const(1.0), update), proposed))
            moved = bb.emit(op.add(kept, op.multiply(update, h)))
            h = bb.emit(op.where(op.greater(lengths, relax.const(at, "int64")), moved, h))
        return h

    return module([x, state, lengths, *params], body, inputs=3)

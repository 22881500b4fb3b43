"""Encoders and their decoders: attention with masks and biases, layer normalization."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import const, linear, module, parameters, tensor, weights


def cross_attention() -> tvm.IRModule:
    """The decoder of a translator (Vaswani et al., 2017): attention over itself under a causal
    mask, and over the encoder's output, with a bias by distance (Raffel et al., 2020)."""
    x, memory = tensor("x", (2, 64, 8, 64)), tensor("memory", (2, 128, 8, 64))
    bias = tensor("bias", (2, 8, 64, 128))
    params = weights({"gamma": (512,), "beta": (512,), "k": (512, 512), "v": (512, 512)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        gamma, beta, k, v = params
        own = bb.emit(op.nn.attention(x, x, x, causal_mask="TopLeft"))
        flat = bb.emit(op.reshape(op.add(own, x), (2, 64, 512)))
        normal = bb.emit(op.nn.layer_norm(flat, gamma, beta, axes=[-1]))
        queries = bb.emit(op.reshape(normal, (2, 64, 8, 64)))
        rows = bb.emit(op.reshape(memory, (2, 128, 512)))
        keys = bb.emit(op.reshape(linear(rows, k), (2, 128, 8, 64)))
        values = bb.emit(op.reshape(linear(rows, v), (2, 128, 8, 64)))
        other = bb.emit(op.nn.attention(queries, keys, values, bias, scale=0.125))
        return op.add(op.reshape(other, (2, 64, 512)), flat)

    return module([x, memory, bias, *params], body, inputs=3)


def speech_encoder() -> tvm.IRModule:
    """The stem of Whisper (Radford et al., 2023): two convolutions over time, the second one halves
    it, with gelu by tanh, positions as a constant, normalization over time and features."""
    sound = tensor("sound", (1, 80, 3000))
    kernels = weights({"first": (384, 80, 3), "second": (384, 384, 3)})
    norm = weights({"gamma": (384,), "beta": (384,)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        first = bb.emit(op.nn.gelu_tanh(op.nn.conv1d(sound, kernels[0], padding=1)))
        second = bb.emit(op.nn.gelu_tanh(op.nn.conv1d(first, kernels[1], strides=2, padding=1)))
        frames = bb.emit(op.permute_dims(second, [0, 2, 1]))
        placed = bb.emit(op.add(frames, parameters((1500, 384))))
        mean = bb.emit(op.mean(placed, axis=[-1], keepdims=True))
        spread = bb.emit(op.sqrt(op.add(op.variance(placed, [-1], keepdims=True), const(1e-5))))
        normal = bb.emit(op.divide(op.subtract(placed, mean), spread))
        return op.add(op.multiply(normal, norm[0]), norm[1])

    return module([sound, *kernels, *norm], body, inputs=1)

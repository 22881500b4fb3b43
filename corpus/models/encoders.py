"""Encoders and what reads them: attention with masks and biases, layer normalization."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import F32, I64, const, linear, module, parameters, size, tensor, weights


def encoder_layer() -> tvm.IRModule:
    """A layer of BERT (Devlin et al., 2019): attention written out, under a mask that is added,
    layer normalization after the sum, a perceptron with gelu."""
    n = size("n")
    x, mask = tensor("x", (4, n, 768)), tensor("attention_mask", (4, n), I64)
    names = {"q": (768, 768), "k": (768, 768), "v": (768, 768), "o": (768, 768)}
    matrices = weights({**names, "up": (3072, 768), "down": (768, 3072)})
    biases = weights({"up_bias": (3072,), "down_bias": (768,), "gamma": (768,), "beta": (768,)})

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        q, k, v, o, up, down = matrices
        up_bias, down_bias, gamma, beta = biases
        seen = bb.emit(op.astype(op.reshape(mask, (4, 1, 1, n)), F32))
        added = bb.emit(op.multiply(op.subtract(const(1.0), seen), const(-10000.0)))

        def heads(weight: relax.Var, order: list[int]) -> relax.Expr:
            return bb.emit(op.permute_dims(op.reshape(linear(x, weight), (4, n, 12, 64)), order))

        queries, keys, values = (
            heads(q, [0, 2, 1, 3]),
            heads(k, [0, 2, 3, 1]),
            heads(v, [0, 2, 1, 3]),
        )
        scores = bb.emit(op.multiply(op.matmul(queries, keys), const(0.125)))
        chances = bb.emit(op.nn.softmax(op.add(scores, added), axis=-1))
        mixed = bb.emit(op.permute_dims(op.matmul(chances, values), [0, 2, 1, 3]))
        total = bb.emit(op.add(linear(op.reshape(mixed, (4, n, 768)), o), x))
        normal = bb.emit(op.nn.layer_norm(total, gamma, beta, axes=[-1], epsilon=1e-12))
        hidden = bb.emit(op.nn.gelu(op.add(linear(normal, up), up_bias)))
        out = bb.emit(op.add(op.add(linear(hidden, down), down_bias), normal))
        return op.nn.layer_norm(out, gamma, beta, axes=[-1], epsilon=1e-12)

    return module([x, mask, *matrices, *biases], body, inputs=2)


def cross_attention() -> tvm.IRModule:
    """The decoder of a translator (Vaswani et al., 2017): attention over itself under a causal
    mask, and over what the encoder gave, with a bias by distance (Raffel et al., 2020)."""
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


def patch_embedding() -> tvm.IRModule:
    """A plain vision transformer (Dosovitskiy et al., 2021; Beyer et al., 2022) around its layers:
    patches are cut by reshapes, a position is added, the mean over all patches goes to the head."""
    n = size("n")
    image = tensor("image", (n, 3, 224, 224))
    embed, bias, position, head = weights(
        {"embed": (384, 768), "bias": (384,), "position": (1, 196, 384), "head": (1000, 384)}
    )

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        grid = bb.emit(op.reshape(image, (n, 3, 14, 16, 14, 16)))
        patches = bb.emit(op.permute_dims(grid, [0, 2, 4, 3, 5, 1]))
        rows = bb.emit(op.reshape(patches, (n, 196, 768)))
        tokens = bb.emit(op.add(op.add(linear(rows, embed), bias), position))
        mean = bb.emit(op.mean(tokens, axis=[1]))
        return relax.Tuple([tokens, bb.emit(op.nn.softmax(linear(mean, head)))])

    return module([image, embed, bias, position, head], body, inputs=1)


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

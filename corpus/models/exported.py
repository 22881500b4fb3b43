"""Pieces of models as torch.export decomposes them and TVM imports them: masks of bool, positions
of int64, numbers as constants of rank 0, products flattened to three dimensions."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import F16, F32, I64, module, parameters, tensor

END = (1 << 63) - 1
"""The end of a slice up to the end of its axis, as PyTorch writes it."""


def _number(value: float, dtype: str = F32) -> relax.Expr:
    return relax.const(value, dtype)


def _half(x: relax.Expr, axis: int, first: int, end: int) -> relax.Expr:
    return op.strided_slice(x, [axis], [first], [end], [1])


def packed_attention() -> tvm.IRModule:
    """Attention of Llama and Qwen 2 in transformers, where no mask is given: sequences packed into
    one are found from positions that do not follow each other, by a running sum of bool."""
    length, heads, width = 64, 4, 64
    queries, keys, values = (tensor(name, (1, heads, length, width)) for name in ("q", "k", "v"))
    positions = tensor("position_ids", (1, length), I64)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        before = bb.emit(op.subtract(_half(positions, 1, 0, 1), _number(1, I64)))
        shifted = bb.emit(op.concat([before, _half(positions, 1, 0, length - 1)], axis=-1))
        steps = bb.emit(op.subtract(positions, shifted))
        number = bb.emit(op.cumsum(op.not_equal(steps, _number(1, I64)), axis=-1))
        place = bb.emit(op.arange(0, length, 1, I64))
        row, column = op.reshape(place, (1, 1, length, 1)), op.reshape(place, (1, 1, 1, length))
        batch = bb.emit(op.reshape(op.arange(0, 1, 1, I64), (1, 1, 1, 1)))
        causal = bb.emit(op.less_equal(column, row))
        own, other = (bb.emit(op.index_tensor(number, (batch, each))) for each in (row, column))
        allowed = bb.emit(op.bitwise_and(causal, op.equal(own, other)))
        bias = bb.emit(op.where(allowed, _number(0.0), _number(float("-inf"))))

        def flat(x: relax.Expr, shape: tuple[int, ...]) -> relax.Expr:
            wide = bb.emit(op.broadcast_to(x, (1, heads, *shape)))
            return bb.emit(op.reshape(wide, (heads, *shape)))

        turned = bb.emit(op.permute_dims(keys, [0, 1, 3, 2]))
        scaled = bb.emit(op.multiply(queries, _number(width**-0.25)))
        scores = bb.emit(
            op.matmul(
                flat(scaled, (length, width)),
                flat(op.multiply(turned, _number(width**-0.25)), (width, length)),
                out_dtype=F32,
            )
        )
        masked = bb.emit(op.add(op.reshape(scores, (1, heads, length, length)), bias))
        chances = bb.emit(op.nn.softmax(masked, axis=-1))
        # A row with nothing to attend to.
        some = bb.emit(op.logical_not(op.equal(masked, _number(float("-inf")))))
        any_ = bb.emit(op.astype(op.max(op.astype(some, "int8"), [-1], keepdims=True), "bool"))
        zeros = bb.emit(op.full_like(chances, _number(0.0)))
        kept = bb.emit(op.where(op.logical_not(any_), zeros, chances))
        mixed = op.matmul(flat(kept, (length, length)), flat(values, (length, width)))
        return op.reshape(bb.emit(mixed), (1, heads, length, width))

    return module([queries, keys, values, positions], body, inputs=4)


def gated_block() -> tvm.IRModule:
    """A block of Llama in half precision, written out: rotary embedding by halves of the heads,
    RMSNorm in float32 by powers, the gated network."""
    heads, length, width = 4, 64, 32
    size = heads * width
    x = tensor("hidden_states", (1, length, size), F16)
    positions = tensor("position_ids", (1, length), I64)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        def norm(value: relax.Expr, seed: int) -> relax.Expr:
            wide = bb.emit(op.astype(value, F32))
            variance = bb.emit(op.mean(op.power(wide, _number(2.0)), [-1], keepdims=True))
            scale = bb.emit(op.rsqrt(op.add(variance, _number(1e-6))))
            narrow = bb.emit(op.astype(op.multiply(wide, scale), F16))
            return bb.emit(op.multiply(parameters((size,), F16, seed), narrow))

        def linear(value: relax.Expr, into: int, seed: int) -> relax.Expr:
            rows = bb.emit(op.reshape(value, (length, -1)))
            ins = int(rows.ty.shape.values[1])
            weight = bb.emit(op.permute_dims(parameters((into, ins), F16, seed), [1, 0]))
            product = bb.emit(op.matmul(rows, weight, out_dtype=F16))
            return bb.emit(op.reshape(product, (1, length, into)))

        steps = parameters((1, width // 2, 1), F32)
        rows = bb.emit(op.astype(op.expand_dims(positions, 1), F32))
        angles = bb.emit(op.permute_dims(op.matmul(steps, rows), [0, 2, 1]))
        both = bb.emit(op.concat([angles, angles], axis=-1))
        cos, sin = (
            bb.emit(op.expand_dims(op.astype(op.multiply(each(both), _number(1.0)), F16), 1))
            for each in (op.cos, op.sin)
        )
        split = bb.emit(op.reshape(linear(norm(x, 1), size, 2), (1, length, heads, width)))
        turned = bb.emit(op.permute_dims(split, [0, 2, 1, 3]))
        first = bb.emit(_half(turned, 3, 0, width // 2))
        second = bb.emit(op.negative(_half(turned, 3, width // 2, END)))
        rotated = bb.emit(
            op.add(op.multiply(turned, cos), op.multiply(op.concat([second, first], axis=-1), sin))
        )
        joined = bb.emit(op.reshape(op.permute_dims(rotated, [0, 2, 1, 3]), (1, length, size)))
        hidden = bb.emit(op.add(x, joined))
        normed = norm(hidden, 3)
        gate = bb.emit(op.astype(linear(normed, 2 * size, 4), F32))
        active = bb.emit(op.astype(op.multiply(gate, op.sigmoid(gate)), F16))
        gated = bb.emit(op.multiply(active, linear(normed, 2 * size, 5)))
        return op.add(hidden, linear(gated, size, 6))

    return module([x, positions], body, inputs=2)


def cached_attention() -> tvm.IRModule:
    """One token of a decoder with a cache of fixed length in half precision, as `StaticCache` of
    transformers is exported: keys are put at a position, a mask of bool leaves out the rest."""
    heads, length, width = 4, 128, 64
    cache = [tensor(name, (1, heads, length, width), F16) for name in ("key_cache", "value_cache")]
    new = [tensor(name, (1, heads, 1, width), F16) for name in ("query", "key", "value")]
    position = tensor("cache_position", (1,), I64)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        def put(into: relax.Expr, value: relax.Expr) -> relax.Expr:
            rows = bb.emit(op.permute_dims(into, [2, 0, 1, 3]))
            row = bb.emit(op.permute_dims(value, [2, 0, 1, 3]))
            written = bb.emit(op.scatter_nd(rows, op.reshape(position, (1, 1)), row, "update"))
            return bb.emit(op.permute_dims(written, [1, 2, 0, 3]))

        query, key, value = new
        keys, values = put(cache[0], key), put(cache[1], value)
        places = bb.emit(op.expand_dims(op.arange(0, length, 1, I64), 0))
        seen = bb.emit(op.less_equal(places, op.expand_dims(position, 1)))
        mask = bb.emit(op.expand_dims(op.expand_dims(seen, 0), 0))
        lowest = bb.emit(op.full((1, 1, 1, length), _number(-65504.0, F16), F16))
        bias = bb.emit(op.where(mask, _number(0.0, F16), lowest))
        scores = bb.emit(op.matmul(query, op.permute_dims(keys, [0, 1, 3, 2])))
        scaled = bb.emit(op.add(op.multiply(scores, _number(0.125, F16)), bias))
        chances = bb.emit(op.astype(op.nn.softmax(op.astype(scaled, F32), axis=-1), F16))
        return relax.Tuple([bb.emit(op.matmul(chances, values)), keys, values])

    return module([*new, position, *cache], body, inputs=6)


def selective_scan() -> tvm.IRModule:
    """The recurrence of Mamba (Gu and Dao, 2023), unrolled as torch.export unrolls the loop of
    transformers: softplus of the step, exponentials of its products, a slice for each step."""
    steps, channels, states = 4, 64, 16
    x = tensor("hidden_states", (1, channels, steps))
    step = tensor("time_step", (1, channels, steps))
    mixed = [tensor(name, (1, steps, states)) for name in ("B", "C")]

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        large = bb.emit(op.greater(step, _number(20.0)))
        soft = bb.emit(op.log(op.add(op.exp(step), _number(1.0))))
        delta = bb.emit(op.where(large, step, soft))
        decay = bb.emit(op.negative(op.exp(parameters((channels, states)))))
        rates = op.multiply(op.reshape(decay, (1, channels, 1, states)), op.expand_dims(delta, 3))
        kept = bb.emit(op.exp(rates))
        rows = bb.emit(op.multiply(op.expand_dims(delta, 3), op.expand_dims(mixed[0], 1)))
        added = bb.emit(op.multiply(rows, op.expand_dims(x, 3)))
        state = bb.emit(op.zeros((1, channels, states), F32))
        outs = []
        for at in range(steps):
            index = relax.const(at, I64)
            old = bb.emit(op.multiply(op.take(kept, index, axis=2), state))
            state = bb.emit(op.add(old, op.take(added, index, axis=2)))
            weight = bb.emit(op.expand_dims(op.take(mixed[1], index, axis=1), 2))
            outs.append(bb.emit(op.squeeze(op.matmul(state, weight), [2])))
        scanned = bb.emit(op.stack(outs, axis=-1))
        return op.add(scanned, op.multiply(x, parameters((1, channels, 1), F32, 1)))

    return module([x, step, *mixed], body, inputs=4)


def top_k_sampling() -> tvm.IRModule:
    """Sampling from the most likely tokens (Fan et al., 2018) as generation of transformers warps
    the scores: all below the last of the best are masked, and the token is found by its place."""
    scores = tensor("scores", (2, 1000))
    tokens = tensor("input_ids", (2, 64), I64)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        warm = bb.emit(op.divide(scores, _number(0.7)))
        seen = bb.emit(op.gather_elements(warm, tokens, axis=1))
        lower = bb.emit(op.less(seen, _number(0.0)))
        punished = bb.emit(
            op.where(lower, op.multiply(seen, _number(1.2)), op.divide(seen, _number(1.2)))
        )
        warm = bb.emit(op.scatter_elements(warm, tokens, punished, axis=1))
        best = bb.emit(op.topk(warm, k=50, axis=-1, ret_type="both", largest=True, dtype=I64))
        least = bb.emit(_half(best[0], 1, 49, END))
        masked = bb.emit(op.where(op.less(warm, least), _number(float("-inf")), warm))
        chances = bb.emit(op.nn.softmax(masked, axis=-1))
        token = bb.emit(op.expand_dims(op.argmax(chances, axis=1), 1))
        return relax.Tuple([bb.emit(op.concat([tokens, token], axis=1)), chances])

    return module([scores, tokens], body, inputs=2)

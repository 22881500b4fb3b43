"""Language models as decoders are compiled: half precision, a length known at run time, a cache."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from .building import F16, F32, I32, I64, const, linear, module, size, tensor, weights


def decoder_layer() -> tvm.IRModule:
    """A layer of Llama 2 (Touvron et al., 2023) with a paged KV cache, as mlc-llm exports it."""
    n = size("seq_len")
    x = tensor("input_embed", (1, n, 4096), F16)
    cache = relax.Var("paged_kv_cache", relax.AnyType())
    params = weights(
        {
            "input_norm": (4096,),
            "qkv": (12288, 4096),
            "o": (4096, 4096),
            "post_norm": (4096,),
            "gate_up": (22016, 4096),
            "down": (4096, 11008),
        },
        F16,
    )

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        input_norm, qkv_weight, o, post_norm, gate_up, down = params
        normed = bb.emit(op.nn.rms_norm(x, input_norm, axes=[-1], epsilon=1e-5))
        qkv = bb.emit(linear(normed, qkv_weight))
        heads = bb.emit(op.reshape(op.reshape(qkv, (1, n, 96, 128)), (n, 96, 128)))
        attention = bb.emit(
            op.call_dps_packed(
                "vm.builtin.attention_kv_cache_attention_with_fused_qkv",
                [cache, relax.prim_value(0), relax.prim_value(0.08838834764831845), heads],
                relax.TensorType((n, 32, 128), F16),
            )
        )
        flat = bb.emit(op.reshape(op.reshape(attention, (1, n, 32, 128)), (1, n, 4096)))
        hidden = bb.emit(op.add(linear(flat, o), x))
        normed = bb.emit(op.nn.rms_norm(hidden, post_norm, axes=[-1], epsilon=1e-5))
        both = bb.emit(op.split(linear(normed, gate_up), 2, axis=-1))
        gated = bb.emit(op.multiply(op.nn.silu(both[0]), both[1]))
        return op.add(linear(gated, down), hidden)

    return module([x, cache, *params], body, name="prefill", inputs=2)


def grouped_query_attention() -> tvm.IRModule:
    """Llama 3 and Qwen 2 as PyTorch writes them: rotary embedding (Su et al., 2021) by halves, 8
    heads of keys for 32 of queries (Ainslie et al., 2023), a causal mask, softmax in float32."""
    n = size("n")
    x = tensor("x", (1, n, 4096), F16)
    positions = tensor("positions", (n,), I64)
    params = weights({"q": (4096, 4096), "k": (1024, 4096), "v": (1024, 4096)}, F16)
    table = tensor("inv_freq", (64,))

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        angles = bb.emit(
            op.multiply(op.expand_dims(op.astype(positions, F32), 1), op.expand_dims(table, 0))
        )
        both = bb.emit(op.concat([angles, angles], axis=-1))
        cos, sin = bb.emit(op.astype(op.cos(both), F16)), bb.emit(op.astype(op.sin(both), F16))

        def heads(weight: relax.Var, count: int) -> relax.Expr:
            split = op.reshape(linear(x, weight), (1, n, count, 128))
            return bb.emit(op.permute_dims(split, [0, 2, 1, 3]))

        def rotated(each: relax.Expr) -> relax.Expr:
            halves = bb.emit(op.split(each, 2, axis=-1))
            turned = bb.emit(op.concat([op.negative(halves[1]), halves[0]], axis=-1))
            return bb.emit(op.add(op.multiply(each, cos), op.multiply(turned, sin)))

        queries, keys = rotated(heads(params[0], 32)), rotated(heads(params[1], 8))
        keys = bb.emit(op.repeat(keys, 4, axis=1))
        values = bb.emit(op.repeat(heads(params[2], 8), 4, axis=1))
        scores = bb.emit(op.matmul(queries, op.permute_dims(keys, [0, 1, 3, 2])))
        scaled = bb.emit(op.divide(scores, relax.const(128**0.5, F16)))
        allowed = bb.emit(op.tril(op.full((n, n), relax.const(True, "bool"), "bool"), 0))
        masked = bb.emit(op.where(allowed, scaled, relax.const(-65504.0, F16)))
        chances = bb.emit(op.astype(op.nn.softmax(op.astype(masked, F32), axis=-1), F16))
        mixed = bb.emit(op.permute_dims(op.matmul(chances, values), [0, 2, 1, 3]))
        return op.reshape(mixed, (1, n, 4096))

    return module([x, positions, *params, table], body, inputs=2)


def mixture_of_experts() -> tvm.IRModule:
    """The gate and the experts of Mixtral (Jiang et al., 2024): the best two of eight, each with
    its share; all experts are computed, and scattered shares select."""
    n = size("n")
    x = tensor("x", (n, 4096), F16)
    params = weights(
        {"gate": (8, 4096), "up": (8, 14336, 4096), "down": (8, 4096, 14336)},
        F16,
    )

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        gate, up, down = params
        logits = bb.emit(op.astype(linear(x, gate), F32))
        best = bb.emit(op.topk(logits, k=2, axis=-1, ret_type="both", largest=True, dtype=I32))
        shares = bb.emit(op.nn.softmax(best[0], axis=-1))
        indices = bb.emit(op.astype(best[1], I64))
        scattered = bb.emit(op.scatter_elements(op.zeros((n, 8), F32), indices, shares, axis=1))
        counts = bb.emit(op.sum(op.astype(op.greater(scattered, const(0.0)), I32), axis=0))
        offsets = bb.emit(op.cumsum(counts, axis=0, dtype=I32, exclusive=True))
        each = bb.emit(op.broadcast_to(op.expand_dims(x, 0), (8, n, 4096)))
        hidden = bb.emit(op.nn.silu(op.matmul(each, op.permute_dims(up, [0, 2, 1]))))
        outs = bb.emit(op.matmul(hidden, op.permute_dims(down, [0, 2, 1])))
        weighted = bb.emit(
            op.multiply(outs, op.expand_dims(op.astype(op.permute_dims(scattered), F16), 2))
        )
        return relax.Tuple([bb.emit(op.sum(weighted, axis=0)), offsets])

    return module([x, *params], body, inputs=1)


def sampling() -> tvm.IRModule:
    """Sampling from the smallest set of tokens with chance p (Holtzman et al., 2020), as in
    mlc-llm's samplers: a temperature for each sequence, sort, running sum, renormalization."""
    batch = size("batch")
    logits = tensor("logits", (batch, 32000))
    temperature, top_p = tensor("temperature", (batch, 1)), tensor("top_p", (batch, 1))
    uniform = tensor("uniform", (batch, 1))
    rows = tensor("rows", (batch, 1), I64)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        cooled = bb.emit(op.divide(logits, op.maximum(temperature, const(1e-5))))
        chances = bb.emit(op.nn.softmax(cooled, axis=-1))
        order = bb.emit(op.argsort(chances, axis=-1, descending=True, dtype=I32))
        ordered = bb.emit(op.sort(chances, axis=-1, descending=True))
        running = bb.emit(op.cumsum(ordered, axis=1, dtype=F32))
        kept = bb.emit(op.less(op.subtract(running, ordered), top_p))
        cut = bb.emit(op.where(kept, ordered, op.zeros_like(ordered)))
        normal = bb.emit(op.divide(cut, op.sum(cut, axis=-1, keepdims=True)))
        drawn = bb.emit(op.multinomial_from_uniform(normal, uniform, rows, dtype=I64))
        token = bb.emit(op.gather_elements(order, drawn, axis=1))
        greedy = bb.emit(op.argmax(logits, axis=-1, keepdims=True))
        cold = bb.emit(op.less(temperature, const(1e-4)))
        return op.where(cold, op.astype(greedy, I32), token)

    return module([logits, temperature, top_p, uniform, rows], body, name="sample")


def cache_update() -> tvm.IRModule:
    """A cache of keys that grows by a token at each step, as the first mlc-llm models had it:
    packed functions on an object, one of them impure, and the view of a length to come."""
    n, m = size("n"), size("m")
    cache = relax.Var("cache", relax.AnyType())
    keys = tensor("keys", (1, n, 32, 128), F16)
    queries = tensor("queries", (1, n, 32, 128), F16)
    length = relax.Var("length", relax.ShapeType([m]))

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        flat = bb.emit(op.squeeze(keys, axis=[0]))
        grown = bb.emit(
            relax.Call(
                relax.ExternFunc("vm.builtin.attention_kv_cache_append"),
                [cache, flat],
                ty_args=[relax.AnyType()],
            )
        )
        seen = bb.emit(
            op.call_pure_packed(
                "vm.builtin.attention_kv_cache_view",
                grown,
                relax.ShapeExpr([m, 32, 128]),
                ty_args=[relax.TensorType((m, 32, 128), F16)],
            )
        )
        turned = bb.emit(op.permute_dims(op.expand_dims(seen, 0), [0, 2, 3, 1]))
        scores = bb.emit(op.matmul(op.permute_dims(queries, [0, 2, 1, 3]), turned))
        return relax.Tuple([bb.emit(op.nn.softmax(op.astype(scores, F32))), grown])

    return module([keys, queries, length, cache], body, name="decode", dataflow=False)


def group_quantized_linear() -> tvm.IRModule:
    """Weights of 4 bits in groups of 32 with a scale each, eight in a word (q4f16_1 of mlc-llm),
    unpacked with shifts, for the embedding of tokens and the scores of the last one."""
    n = size("n")
    tokens = tensor("tokens", (1, n), I32)
    packed = tensor("packed", (32000, 512), "uint32")
    scale = tensor("scale", (32000, 128), F16)
    norm = tensor("norm", (4096,), F16)

    def body(bb: relax.BlockBuilder) -> relax.Expr:
        def unpacked(words: relax.Expr, scales: relax.Expr, rows: relax.Expr) -> relax.Expr:
            shifts = relax.const([4 * at for at in range(8)], "uint32")
            shifted = bb.emit(op.right_shift(op.expand_dims(words, 2), shifts))
            nibbles = bb.emit(op.bitwise_and(shifted, relax.const(15, "uint32")))
            centred = bb.emit(op.subtract(op.astype(nibbles, F16), relax.const(7.0, F16)))
            groups = bb.emit(op.reshape(centred, (rows, 128, 32)))
            return bb.emit(op.reshape(op.multiply(groups, op.expand_dims(scales, 2)), (rows, 4096)))

        flat = bb.emit(op.reshape(tokens, (n,)))
        rows = unpacked(
            bb.emit(op.take(packed, flat, axis=0)), bb.emit(op.take(scale, flat, axis=0)), n
        )
        normed = bb.emit(op.nn.rms_norm(op.reshape(rows, (1, n, 4096)), norm, axes=[-1]))
        last = bb.emit(op.strided_slice(normed, axes=[1], begin=[n - 1], end=[n]))
        scores = bb.emit(linear(last, unpacked(packed, scale, 32000)))
        return op.astype(scores, F32)

    return module([tokens, packed, scale, norm], body, inputs=1)

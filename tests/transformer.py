"""Models as they are in life: blocks of a transformer, made with TVM's `relax.frontend.nn`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op


class Attention(nn.Module):  # type: ignore[misc]  # TVM has no types
    def __init__(self, hidden: int, heads: int) -> None:
        self.heads, self.size = heads, hidden // heads
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))

    def forward(self, x: Any) -> Any:
        batch, tokens, hidden = x.shape
        split = (batch, tokens, self.heads, self.size)
        q, k, v = (
            op.permute_dims(op.reshape(layer(x), split), (0, 2, 1, 3))
            for layer in (self.q, self.k, self.v)
        )
        scores = op.matmul(q, op.permute_dims(k, (0, 1, 3, 2))) * self.size**-0.5
        mixed = op.matmul(op.softmax(scores, axis=-1), v)
        return self.o(op.reshape(op.permute_dims(mixed, (0, 2, 1, 3)), (batch, tokens, hidden)))


class Block(nn.Module):  # type: ignore[misc]  # TVM has no types
    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        self.first, self.second = (nn.RMSNorm(hidden, -1, bias=False) for _ in range(2))
        self.attention = Attention(hidden, heads)
        self.gate, self.up = (nn.Linear(hidden, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.first(x))
        y = self.second(x)
        return x + self.down(op.silu(self.gate(y)) * self.up(y))


class Blocks(nn.Module):  # type: ignore[misc]  # TVM has no types
    def __init__(self, blocks: int, hidden: int, heads: int, inner: int) -> None:
        self.blocks = nn.ModuleList([Block(hidden, heads, inner) for _ in range(blocks)])

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def transformer(
    blocks: int = 1,
    *,
    hidden: int = 256,
    heads: int = 8,
    inner: int = 1024,
    tokens: int = 64,
    dtype: str = "float32",
) -> tuple[tvm.IRModule, list[Any]]:
    """Blocks like those of Llama, and arguments for its function `forward`."""
    model = Blocks(blocks, hidden, heads, inner)
    model.to(dtype)
    mod, _ = model.export_tvm({"forward": {"x": nn.spec.Tensor([1, tokens, hidden], dtype)}})
    rng = np.random.default_rng(0)
    return mod, [
        (rng.standard_normal([int(dim) for dim in param.ty.shape.values]) / 8).astype(dtype)
        for param in mod["forward"].params
    ]

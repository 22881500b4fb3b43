"""Groups of operators that patterns name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...compat.ops import attribute
from ..ops import OP_FAMILIES, table

WITHOUT_OPERANDS = {"full", "zeros", "ones", "arange", "eye", "hamming_window", "null_value"}
"""Operators without tensor operands."""


OF_OTHER_DTYPE = {"isfinite", "isinf", "isnan", "astype", "logical_not", "bitwise_not"}
"""Operators with results or operands of dtypes that few other operators accept."""


def _families(*names: str) -> tuple[str, ...]:
    return tuple(op.name for name in names for op in OP_FAMILIES[name])


def _pure() -> Iterator[str]:
    return (name for name, op in table.items() if op.pure and name not in WITHOUT_OPERANDS)


def _registered(key: str) -> tuple[str, ...]:
    """Operators with a registered attribute that passes look for."""
    return tuple(name for name in _pure() if attribute(f"relax.{name}", key) is not None)


GROUPS: Mapping[str, tuple[str, ...]] = {
    "unary": (
        *(name for name in _families("unary") if name not in OF_OTHER_DTYPE),
        *("nn.relu", "nn.gelu", "nn.silu", "nn.gelu_tanh", "nn.leakyrelu", "nn.softplus"),
    ),
    "binary": tuple(name for name in _families("binary") if name != "ewise_fma"),
    "reduction": _families("reduction"),
    "compare": ("greater", "less", "equal", "not_equal", "less_equal", "greater_equal"),
    "activation": (
        "nn.relu",
        "nn.gelu",
        "nn.silu",
        "nn.gelu_tanh",
        "sigmoid",
        "tanh",
        "clip",
        "nn.leakyrelu",
    ),
    "move": (
        "reshape",
        "permute_dims",
        "expand_dims",
        "squeeze",
        "flatten",
        "broadcast_to",
        "strided_slice",
        "take",
        "tile",
        "repeat",
        "flip",
        "concat",
        "split",
        "stack",
    ),
    "view": (
        "reshape",
        "flatten",
        "expand_dims",
        "squeeze",
        "memory.view",
        "memory.ensure_zero_offset",
    ),
    "conv": _families("convolution"),
    "pool": _families("pooling"),
    "norm": ("nn.layer_norm", "nn.rms_norm", "nn.group_norm", "nn.instance_norm"),
    "softmax": ("nn.softmax", "nn.log_softmax"),
    "scan": ("cumsum", "cumprod"),
    "order": ("sort", "argsort", "topk", "median", "argmax", "argmin"),
    "like": ("zeros_like", "ones_like", "full_like"),
    "loss": ("nn.cross_entropy_with_logits", "nn.nll_loss", "sum", "mean"),
    "layout": _registered("FRelaxInferLayout"),
    "narrow": _registered("TMixedPrecisionPolicy"),
    "gradient": _registered("FPrimalGradient"),
    "anything": tuple(_pure()),
}
"""Operators by the name of their group."""

if clash := sorted(GROUPS.keys() & table.keys()):
    raise ValueError(f"Expected names that no operator has but got {clash}")

"""A module's twin in float64: the same computation, where rounding does not matter."""

from __future__ import annotations

import base64
import struct
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ..errors import Unsupported
from ..metamorphic.graph import Graph

NARROW = ("float32", "float16")
FLOAT_CODE = 2
"""DLPack's code of floats."""


def doubled(mod: tvm.IRModule) -> tvm.IRModule:
    """The module with float64 in place of float32 and float16, constants included.

    Raises:
        Unsupported: no well-formed module comes of it.
    """
    graph = Graph(mod)
    for node in graph.nodes:
        data = node.get("data")
        if node["type"] == "ffi.Tensor":
            node["data"] = _tensor(node["data"])
        elif isinstance(data, dict):
            node["data"] = {key: _wide(value) for key, value in data.items()}
        else:
            node["data"] = _wide(data)
    try:
        twin = graph.load()
    except Exception as error:
        raise Unsupported(f"a twin in float64: {error}") from error
    if not relax.analysis.check_well_formed(twin):
        raise Unsupported("a twin in float64 that is well-formed")
    return twin


def _wide(value: Any) -> Any:
    return "float64" if isinstance(value, str) and value in NARROW else value


def _tensor(text: str) -> str:
    """A tensor as TVM saves it: magic, reserved, device, rank, dtype, shape, size, data."""
    raw = base64.b64decode(text)
    rank, code, bits, lanes = struct.unpack_from("<iBBH", raw, 24)
    if code != FLOAT_CODE or bits not in (16, 32) or lanes != 1:
        return text
    start = 32 + 8 * rank
    numbers = np.frombuffer(raw, f"<f{bits // 8}", offset=start + 8).astype("<f8").tobytes()
    dtype = struct.pack("<BBH", FLOAT_CODE, 64, 1)
    wide = raw[:28] + dtype + raw[32:start] + struct.pack("<q", len(numbers)) + numbers
    return base64.b64encode(wide).decode()

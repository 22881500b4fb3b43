"""A piece of a real module."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
from tvm import relax

from ...compat.serialization import load_json

MAIN = "piece"
"""The name of the function that the bindings of a piece are in."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A few connected bindings of a real module, and the functions that they refer to."""

    name: str
    """Where it is from: "model.onnx, main, bindings 12 to 30"."""
    text: str
    """The TVM JSON of a module whose function `piece` has what the bindings use as parameters."""

    def load(self) -> tvm.IRModule:
        """The module, made anew: a pass may change a node in place."""
        return load_json(self.text)


def bindings_of(mod: tvm.IRModule) -> relax.Function:
    """The function of a piece that holds its bindings."""
    return mod[MAIN]

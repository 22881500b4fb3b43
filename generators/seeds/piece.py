"""A piece of a real module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ...compat.serialization import load_json

MAIN = "relaxfuzz_piece"
"""The name of the function with the bindings of a piece; no other function has it."""


@dataclass(frozen=True, slots=True, repr=False)
class Piece:
    """A few connected bindings of a real module, and the functions that they refer to."""

    name: str
    """Its origin: "model.onnx, main, bindings 12 to 30"; findings store it with the edits."""
    text: str
    """The TVM JSON of a module; its function `MAIN` takes the values that the bindings use."""
    ops: tuple[str, ...] = ()
    """The operators of its calls, in order, without `relax.`."""
    digest: str = ""
    """Equal for structurally equal pieces."""
    source: str = ""
    """The file or function whose module contains it."""

    def __repr__(self) -> str:
        return f"Piece({self.name!r})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the short form in Hypothesis, which would print the text otherwise."""
        printer.text(repr(self))

    def load(self) -> tvm.IRModule:
        """A new copy of the module, since a pass may change nodes in place."""
        return load_json(self.text)


def distinct(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The pieces without duplicates."""
    return tuple({piece.digest: piece for piece in pieces}.values())


def main_of(mod: tvm.IRModule) -> relax.Function:
    """The function of a piece that holds its bindings."""
    return mod[MAIN]


def bindings_of(func: relax.Function) -> list[relax.Binding]:
    """The bindings in the body of a function, without those inside of their values."""
    return [binding for block in func.body.blocks for binding in block.bindings]

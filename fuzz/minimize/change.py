"""What to change in a module: all that reductions over functions and bindings need to say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tvm import relax


@dataclass(slots=True)
class Inline:
    """A sequence that takes the place of a binding: a branch, or the body of what was called."""

    seq: relax.SeqExpr
    uses: dict[int, Any] = field(default_factory=dict)
    """What stands for the parameters and symbolic dimensions of what was called."""
    copy: bool = False
    """It stays elsewhere too, so that its variables must be others here."""


@dataclass(slots=True)
class Change:
    """What to change. Variables are named by their hash, which is that of the node."""

    uses: dict[int, Any] = field(default_factory=dict)
    """A leaf, or a tuple of leaves, to use instead of a variable."""
    dropped: set[int] = field(default_factory=set)
    """Variables whose bindings go."""
    values: dict[int, Any] = field(default_factory=dict)
    """Another value for a variable; it is taken as it is, but for `uses`."""
    inlined: dict[int, Inline] = field(default_factory=dict)
    """A sequence instead of the binding of a variable, its result instead of the variable."""
    results: dict[int, Any] = field(default_factory=dict)
    """Another result of a sequence, by the hash of the SeqExpr."""
    plain: set[int] = field(default_factory=set)
    """Dataflow variables that are needed outside of their block."""
    params: dict[str, list[Any]] = field(default_factory=dict)
    """More parameters of functions of the module; every call passes those of its own function."""
    blocks: dict[int, bool] = field(default_factory=dict)
    """Whether a block becomes a dataflow block, by the hash of the block."""
    merged: set[int] = field(default_factory=set)
    """Sequences in which plain blocks that follow each other become one, by the hash of each."""
    functions: set[str] = field(default_factory=set)
    """The functions of the module that the change is in."""
    removed: set[str] = field(default_factory=set)
    """Functions of the module that go."""

"""The state that the functions of one module share while it is generated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import tvm
from tvm import relax

from ..compat import ir
from .seeds.edit import PieceEdit
from .seeds.piece import Piece
from .traits import Trait


@dataclass(slots=True)
class ModuleScope:
    """The state that the functions of one module share."""

    traits: frozenset[Trait]
    builder: relax.BlockBuilder = field(default_factory=relax.BlockBuilder)
    functions: dict[relax.GlobalVar, tvm.ir.BaseFunc] = field(default_factory=dict)
    vdevices: list[ir.VDevice] = field(default_factory=list)
    shapes: dict[tuple[int, ...], relax.ShapeExpr] = field(default_factory=dict)
    """ShapeExpr nodes that several functions use, by their static dims."""
    constants: dict[tuple[object, ...], relax.Expr] = field(default_factory=dict)
    """Constants that several places use, keyed by their contents."""
    given: dict[relax.GlobalVar, Sequence[relax.Expr]] = field(default_factory=dict)
    """The arguments of the latest call of each function."""
    names: dict[str, int] = field(default_factory=dict)
    bindings: int = 0
    """The number of bindings so far, which numbers the variables."""
    numbers: Sequence[float] = ()
    """Numbers that sizes and constants are often close to."""
    dtypes: Sequence[str] = ()
    """Dtypes, one of which most functions use; empty: any."""
    pieces: Sequence[Piece] = ()
    """Pieces of real modules to put among the bindings."""
    edits: Collection[PieceEdit] = tuple(PieceEdit)
    """The kinds of edits that pieces may get."""
    kernels: dict[relax.GlobalVar, int] = field(default_factory=dict)
    """The numbers of operands of the PrimFuncs that pieces call; some of these may have been
    removed from `functions` again."""
    naming: Mapping[str, str] = field(default_factory=dict)
    """Replacements of names, by the plain names."""
    one_name: bool = False
    """True if all bound variables of a kind have one name."""

    def unique(self, name: str) -> str:
        """The name, or its replacement, with a number appended if it is taken."""
        name = self.naming.get(name, name)
        taken = self.names.get(name, 0)
        self.names[name] = taken + 1
        return name if taken == 0 else self.unique(f"{name}_{taken}")

    def add(self, name: str, func: tvm.ir.BaseFunc, *, public: bool = False) -> relax.GlobalVar:
        """Add a function under a fresh GlobalVar that carries its type.

        A public one has the GlobalVar's name as its global symbol.
        """
        gvar = relax.GlobalVar(self.unique(name))
        if public:
            func = func.with_attr("global_symbol", gvar.name_hint)
        relax.expr._update_type(gvar, func.ty)
        self.functions[gvar] = func
        return gvar

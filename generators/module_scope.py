"""What the functions of one module share while it is being generated."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import tvm
from tvm import relax

from ..compat import ir
from .seeds.edit import Edit
from .seeds.piece import Piece
from .traits import Trait


@dataclass(slots=True)
class ModuleScope:
    """What the functions of one module share."""

    traits: frozenset[Trait]
    builder: relax.BlockBuilder = field(default_factory=relax.BlockBuilder)
    functions: dict[relax.GlobalVar, tvm.ir.BaseFunc] = field(default_factory=dict)
    vdevices: list[ir.VDevice] = field(default_factory=list)
    shapes: dict[tuple[int, ...], relax.ShapeExpr] = field(default_factory=dict)
    """ShapeExpr nodes that several functions use, by their static dims."""
    constants: dict[tuple[object, ...], relax.Expr] = field(default_factory=dict)
    """Constants that several places use, by what they are."""
    given: dict[relax.GlobalVar, Sequence[relax.Expr]] = field(default_factory=dict)
    """The arguments of the latest call of each function."""
    names: dict[str, int] = field(default_factory=dict)
    bindings: int = 0
    """How many bindings there are so far; numbers the variables."""
    numbers: Sequence[float] = ()
    """Sizes and constants are often near these."""
    dtypes: Sequence[str] = ()
    """Most functions use one of these; none: any."""
    pieces: Sequence[Piece] = ()
    """Of real modules; they are put among the bindings."""
    edits: Collection[Edit] = tuple(Edit)
    """What may be done to the pieces."""
    kernels: dict[relax.GlobalVar, int] = field(default_factory=dict)
    """By the PrimFuncs that pieces call, the number of their operands; some may have been taken
    back from `functions`."""
    naming: Mapping[str, str] = field(default_factory=dict)
    """Other names to give, by the plain ones."""
    one_name: bool = False
    """Whether all bound variables of a kind have one name."""

    def unique(self, name: str) -> str:
        """The name, or what stands for it here, with a number behind it where it is taken."""
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

"""Contracts of passes that apply TVM's arithmetic analysis: `oracles/arithmetic_passes.py`."""

from __future__ import annotations

from ...generators.stages import Stage
from ..contract import PassContract, Variants
from .common import one_of


def _contract(name: str, variants: Variants | None = None) -> PassContract:
    return PassContract(
        name=f"arith.{name}",
        variants=variants,
        stages=(Stage.EXPRESSIONS,),
    )


_LEVELS = ("'surjective'", "'bijective'", "'nocheck'", "'surjective', trivial=False")

CONTRACTS: tuple[PassContract, ...] = (
    _contract("Simplify", one_of(*(f"arith.Simplify({n})" for n in ("", "4", "1")))),
    _contract(
        "RewriteSimplify",
        one_of(*(f"arith.RewriteSimplify({n or ''})" for n in (0, 0, 7, 1, 2, 4, 8))),
    ),
    _contract("CanonicalSimplify"),
    _contract("ConstIntBound"),
    _contract("ModularSet"),
    _contract("IntSet"),
    _contract("CanProve", one_of("arith.CanProve()", "arith.CanProve(1)")),
    _contract("TryCompare"),
    _contract("DeduceBound"),
    _contract("DetectLinearEquation"),
    _contract("IterMapSimplify", one_of(*(f"arith.IterMapSimplify({n})" for n in _LEVELS))),
    _contract("DetectIterMap", one_of(*(f"arith.DetectIterMap({n})" for n in _LEVELS))),
    _contract("NormalizeToIterSum"),
    _contract("InverseAffineIterMap"),
)

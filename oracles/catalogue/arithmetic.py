"""Contracts of passes that apply TVM's arithmetic analysis: `oracles/arithmetic/passes.py`."""

from __future__ import annotations

from ...generators.stages import Stage
from ..contract import Exemption, PassContract, Variants
from .common import one_of

ONCE = Exemption(
    "idempotent",
    "one run simplifies as far as it does; of the form of the result nothing is promised",
    "tvm/sym/analyzer.py, Analyzer.simplify: 'steps controls how many steps to run'",
)

AGAIN = Exemption(
    "idempotent",
    "what is put around an expression is put around it again",
    "oracles/arithmetic/passes.py: such passes are ours",
)


def _contract(name: str, exemption: Exemption, variants: Variants | None = None) -> PassContract:
    return PassContract(
        name=f"arith.{name}",
        variants=variants,
        stages=(Stage.EXPRESSIONS,),
        expressions=True,
        exemptions=(exemption,),
    )


_LEVELS = ("'surjective'", "'bijective'", "'nocheck'", "'surjective', trivial=False")

CONTRACTS: tuple[PassContract, ...] = (
    _contract("Simplify", ONCE, one_of(*(f"arith.Simplify({n})" for n in ("", "4", "1")))),
    _contract(
        "RewriteSimplify",
        ONCE,
        one_of(*(f"arith.RewriteSimplify({n or ''})" for n in (0, 0, 7, 1, 2, 4, 8))),
    ),
    _contract("CanonicalSimplify", ONCE),
    _contract("ConstIntBound", AGAIN),
    _contract("ModularSet", AGAIN),
    _contract("IntSet", AGAIN),
    _contract("CanProve", AGAIN, one_of("arith.CanProve()", "arith.CanProve(1)")),
    _contract("TryCompare", AGAIN),
    _contract("DeduceBound", AGAIN),
    _contract("DetectLinearEquation", AGAIN),
    _contract("IterMapSimplify", ONCE, one_of(*(f"arith.IterMapSimplify({n})" for n in _LEVELS))),
    _contract("DetectIterMap", ONCE, one_of(*(f"arith.DetectIterMap({n})" for n in _LEVELS))),
    _contract("NormalizeToIterSum", ONCE),
    _contract("InverseAffineIterMap", AGAIN),
)

"""Variants of passes whose arguments do not depend on the module."""

from __future__ import annotations

import tvm

from ...generators.choices import Choices
from ..contract import Variants
from ..passcall import PassCall


def always(*expressions: str) -> Variants:
    """One of these expressions, the first being the simplest."""
    calls = [PassCall(expression) for expression in expressions]

    def variants(choices: Choices, mod: tvm.IRModule) -> PassCall:
        return choices.pick(calls)

    return variants

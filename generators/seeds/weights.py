"""Replace the weights of a module by parameters: their contents do not matter."""

from __future__ import annotations

import math
from typing import Any

from tvm import relax

from ...compat import ir
from ..rewrite.nodes import all_same, block_like, sequence, with_parts, with_type

WEIGHT = 256
"""The least number of elements that makes a constant count as a weight."""


def is_weight(value: Any) -> bool:
    """True if the expression is a large constant."""
    return (
        isinstance(value, ir.GenericConst)
        and isinstance(value.ty, relax.TensorType)
        and math.prod(ir.constant_data(value).shape) >= WEIGHT
    )


def without_weights(func: relax.Function) -> relax.Function:
    """The function with one more parameter for each weight among the operands of its bindings.

    The bindings of branches and of local functions keep theirs.
    """
    weights = _Weights()
    blocks = [
        block_like(block, [weights.replaced(binding) for binding in block.bindings])
        for block in func.body.blocks
    ]
    if not weights.params:
        return func
    body = sequence(blocks, func.body.body)
    return with_parts(func, params=[*func.params, *weights.params], body=body)


class _Weights:
    """Parameters for large constants, one for each."""

    def __init__(self) -> None:
        self._params: dict[int, relax.Var] = {}

    @property
    def params(self) -> list[relax.Var]:
        """The parameters in the order of their first uses."""
        return list(self._params.values())

    def replaced(self, binding: relax.Binding) -> relax.Binding:
        """The binding with parameters for the constants among its operands."""
        value = self._operand(binding.value)
        if value.same_as(binding.value):
            return binding
        if isinstance(binding, relax.MatchCast):
            return relax.MatchCast(binding.var, value, binding.ty)
        return relax.VarBinding(binding.var, value)

    def _operand(self, value: Any) -> Any:
        if is_weight(value):
            name = f"w{len(self._params)}"
            return self._params.setdefault(hash(value), relax.Var(name, value.ty))
        if isinstance(value, relax.Call):
            args = [self._operand(arg) for arg in value.args]
            if not all_same(args, value.args):
                new = relax.Call(value.op, args, value.attrs, value.ty_args)
                return with_type(new, value.ty)
        if isinstance(value, relax.Tuple):
            fields = [self._operand(field) for field in value.fields]
            if not all_same(fields, value.fields):
                return relax.Tuple(fields)  # typed by its fields
        return value

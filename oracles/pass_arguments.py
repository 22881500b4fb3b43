"""The arguments in the text of a pass call."""

from __future__ import annotations

import ast
from typing import Any

from .passcall import PassCall


def argument(call: PassCall, keyword: str, place: int, default: Any = None) -> Any:
    """The literal that the call's text gives for a parameter.

    Args:
        keyword: the name of the parameter.
        place: its position among the parameters.
        default: the value where the text does not give it.
    """
    parsed = _parsed(call)
    for node in parsed.keywords:
        if node.arg == keyword:
            return ast.literal_eval(node.value)
    return ast.literal_eval(parsed.args[place]) if place < len(parsed.args) else default


def positional(call: PassCall) -> list[Any]:
    """The positional arguments in the call's text; for a dictionary, its keys."""
    return [
        [ast.literal_eval(key) for key in node.keys if key is not None]
        if isinstance(node, ast.Dict)
        else ast.literal_eval(node)
        for node in _parsed(call).args
    ]


def text_of(call: PassCall, number: int) -> str:
    """The text of a positional argument."""
    return ast.unparse(_parsed(call).args[number])


def _parsed(call: PassCall) -> ast.Call:
    root = ast.parse(call.expr, mode="eval").body
    if not isinstance(root, ast.Call):
        raise ValueError(f"Expected a call but got expr={call.expr!r}")
    return root

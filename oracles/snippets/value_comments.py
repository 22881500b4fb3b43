"""Values as comments below a module: the arguments and result of a call of a function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ..execute import Failure
from ..expected.comparison import leaves
from ..text import messages

MOST = 1024
"""Elements of one tensor that are written out."""


def called(function: str, args: Sequence[Any], result: Any) -> str:
    """A call with its result, one tensor row on each line, so that rows can be compared.

    Args:
        result: a value; or, in its absence, a text or a failure of the VM.
    """
    if isinstance(result, Failure):
        result = f"{result.error} ({result.step}): {messages.headline(result.text)}"
    given = [f"  {line}" for arg in args for line in _lines(arg)]
    gives = [result] if isinstance(result, str) else _lines(result)
    head = [f"{function}(", *given, ") gives"] if given else [f"{function}() gives"]
    return "\n".join(f"# {line}" for line in [*head, *(f"  {line}" for line in gives)])


def _lines(value: Any) -> Iterator[str]:
    for path, leaf in leaves(value):
        where = f"{'.'.join(map(str, path))}: " if path else ""
        if callable(leaf):
            yield f"{where}a function"
            continue
        yield f"{where}{leaf.dtype} {leaf.shape}"
        rows = _rows(leaf) if leaf.size <= MOST else [f"{leaf.size} elements"]
        yield from (f"  {row}" for row in rows)


def _rows(array: Any) -> list[str]:
    """As NumPy writes it, but without the padding, which would change with a neighbour."""
    if array.ndim == 0:
        return [str(array)]
    if array.ndim == 1 or not len(array):
        return [f"[{', '.join(map(str, array))}]"]
    blocks = [_rows(item) for item in array]
    for block in blocks[:-1]:
        block[-1] += ","
    first, *others = itertools.chain.from_iterable(blocks)
    rows = [f"[{first}", *(f" {row}" for row in others)]
    rows[-1] += "]"
    return rows

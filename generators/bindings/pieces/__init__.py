"""Pieces of real modules among the bindings, with one thing or other changed.

- `splice`: a piece on its way into a scope.
- `operands`: what its parameters become.
- `edits`: changes of one call.
- `holders`: a branch or a function around some of its bindings.
"""

from .splice import piece

__all__ = ["piece"]

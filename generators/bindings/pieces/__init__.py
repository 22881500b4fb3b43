"""Pieces of real modules among the bindings, with some details changed.

- `splice`: inserts a piece into a scope.
- `operands`: replaces its parameters by values in scope.
- `edits`: changes single calls.
- `functions`: adds a piece that stays a function.
"""

from .splice import piece

__all__ = ["piece"]

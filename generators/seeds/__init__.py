"""Real modules as a source of generated ones.

- `cutting`: a module is cut into pieces: a few bindings that belong together, as a function.
- `slimming`: the dimensions and constants of a piece become small.
- `piece`: a piece, as text with a name.

`bindings.pieces` puts pieces into the functions that are generated.
"""

from .cutting import cut
from .piece import Piece
from .slimming import pieces_of, slim

__all__ = ["Piece", "cut", "pieces_of", "slim"]

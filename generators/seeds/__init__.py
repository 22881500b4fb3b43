"""Real modules as a source of generated ones.

- `weights`: large constants become parameters.
- `whole`: a whole module, unchanged except for its weights.
- `cutting`: a module is cut into pieces: a few bindings that belong together, as a function.
- `slimming`: the dimensions and constants of a piece become small.
- `bounds`: a check that a PrimFunc still stays inside of its buffers.
- `devices`: the virtual devices of a piece become those of a module.
- `piece`: a piece, as text with a name.
- `edit`: the kinds of edits.
- `record`: a record of the pieces in a module.

`bindings.pieces` puts pieces into the functions that are generated.
"""

from .cutting import cut
from .edit import PieceEdit
from .piece import Piece, distinct
from .record import recorded
from .slimming import pieces_of, slim
from .whole import Whole, whole_of

__all__ = [
    "Piece",
    "PieceEdit",
    "Whole",
    "cut",
    "distinct",
    "pieces_of",
    "recorded",
    "slim",
    "whole_of",
]

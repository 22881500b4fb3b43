"""Reductions over blocks: plain ones, and few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from . import edit
from .change import Change
from .halving import runs
from .reduction import Edit
from .rewrite import rewritten
from .scopes import scopes_of


def plain_blocks(mod: tvm.IRModule) -> Iterator[Edit]:
    """With plain blocks instead of dataflow blocks, and one instead of those in a row.

    Of the whole module, then of runs of sequences, then of runs of blocks.
    """
    found = [
        (gvar.name_hint, scope.seq)
        for gvar, func in edit.relax_functions(mod)
        for scope in scopes_of(func)
        if len(scope.seq.blocks) > 1 or any(map(_is_dataflow, scope.seq.blocks))
    ]
    for run in runs(found):
        yield partial(rewritten, mod, _plain(run, [b for _, seq in run for b in seq.blocks]))
    for name, seq in found:
        blocks = [block for block in seq.blocks if _is_dataflow(block)]
        if len(seq.blocks) > 1:
            for part in runs(blocks):
                if len(part) < len(seq.blocks):
                    yield partial(rewritten, mod, _plain([(name, seq)], part))


def _plain(sequences: Sequence[tuple[str, Any]], blocks: Sequence[Any]) -> Change:
    return Change(
        blocks={hash(block): False for block in blocks},
        merged={hash(seq) for _, seq in sequences},
        functions={name for name, _ in sequences},
    )


def _is_dataflow(block: Any) -> bool:
    return isinstance(block, relax.DataflowBlock)

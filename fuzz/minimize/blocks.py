"""Reductions over blocks: plain ones, and few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import tvm
from tvm import relax

from ...generators.rewrite.change import Change
from ...generators.rewrite.scopes import scopes_of
from ...oracles.inspect import relax_functions
from .halving import runs
from .reduction import Edit


def plain_blocks(mod: tvm.IRModule) -> Iterator[Edit]:
    """With plain blocks instead of dataflow blocks, and one instead of those in a row.

    Of the whole module, then of runs of sequences, then of runs of blocks.
    """
    found = [
        (gvar.name_hint, scope.seq)
        for gvar, func in relax_functions(mod)
        for scope in scopes_of(func)
        if len(scope.seq.blocks) > 1 or any(map(_is_dataflow, scope.seq.blocks))
    ]
    for run in runs(found):
        yield partial(_plain(run, [b for _, seq in run for b in seq.blocks]).apply, mod)
    for name, seq in found:
        blocks = [block for block in seq.blocks if _is_dataflow(block)]
        if len(seq.blocks) > 1:
            for part in runs(blocks):
                if len(part) < len(seq.blocks):
                    yield partial(_plain([(name, seq)], part).apply, mod)


def _plain(sequences: Sequence[tuple[str, Any]], blocks: Sequence[Any]) -> Change:
    return Change(
        blocks={hash(block): False for block in blocks},
        merged={hash(seq) for _, seq in sequences},
        functions={name for name, _ in sequences},
    )


def _is_dataflow(block: Any) -> bool:
    return isinstance(block, relax.DataflowBlock)

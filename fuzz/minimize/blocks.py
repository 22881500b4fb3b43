"""Reductions over blocks: plain ones where dataflow blocks were."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tvm
from tvm import relax

from . import edit
from .change import Change
from .halving import runs
from .reduction import Edit
from .rewrite import rewritten
from .scopes import scopes_of


def plain_blocks(mod: tvm.IRModule) -> Iterator[Edit]:
    """With plain blocks instead of dataflow blocks: of the module, then of runs of them."""
    found = [
        (gvar.name_hint, hash(block))
        for gvar, func in edit.relax_functions(mod)
        for scope in scopes_of(func)
        for block in scope.seq.blocks
        if isinstance(block, relax.DataflowBlock)
    ]
    for run in runs(found):
        blocks = {key: False for _, key in run}
        yield partial(rewritten, mod, Change(blocks=blocks, functions={name for name, _ in run}))

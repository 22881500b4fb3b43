"""`relaxfuzz seeds`: what --seeds reads, and what it is cut into."""

from __future__ import annotations

from typing import Annotated

import typer

from ..system.limits import cores
from .app import command
from .options import Json, Workers


@command(
    workers=True,
    epilog="Examples:\n\n"
    "  relaxfuzz seeds model.onnx\n\n"
    "  relaxfuzz seeds models/ my_models.py my_package.models:llama --json",
)
def seeds(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Files (TVM JSON, Python, ONNX), folders of such files, or "
            "FILE.py:function or package.module:function. A Python file is executed.",
        ),
    ],
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Show what real modules are read and cut into, for `relaxfuzz run --seeds`."""
    import json as json_module
    from collections import Counter

    from ...generators.seeds import distinct
    from ..process.local_pool import LocalPool
    from ..user_input.seeds import read_seeds

    found = []
    with LocalPool(workers or cores()) as pool:
        for seed in read_seeds(paths, pool):
            found.append(seed)
            bindings = sum(len(piece.ops) for piece in seed.pieces)
            ops = Counter(op for piece in seed.pieces for op in piece.ops)
            if json:
                event = {
                    "event": "seed",
                    "source": seed.source,
                    "problem": seed.problem,
                    "pieces": [{"name": p.name, "ops": p.ops} for p in seed.pieces],
                    "whole": seed.whole is not None,
                }
                print(json_module.dumps(event), flush=True)
            elif seed.problem is not None:
                print(f"left out: {seed.problem}", flush=True)
            else:
                common = ", ".join(f"{op} {count}" for op, count in ops.most_common(8))
                size = f"{len(seed.pieces)} pieces with {bindings} calls"
                if seed.whole is None:
                    size += ", and not checked as a whole"
                print(f"{seed.source}: {size}: {common}", flush=True)
    pieces = distinct(piece for seed in found for piece in seed.pieces)
    if not json:
        print(f"{len(pieces)} distinct pieces of {sum(s.problem is None for s in found)} modules")
    return 0 if pieces else 2

"""`relaxfuzz run`: generate modules, check passes on them, report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...oracles.grades.grade import Grade
from ..system.limits import cores
from ..user_input.options import SEED_SHARE
from .app import command
from .options import (
    OUT,
    Block,
    Cluster,
    Device,
    Exempt,
    FailOn,
    Family,
    Json,
    KnownFolders,
    KnownUpdate,
    Like,
    Loud,
    NoKnown,
    Oracles,
    Out,
    Passes,
    Scheduler,
    Seeds,
    SeedShare,
    Stages,
    Workers,
)

BUDGET = "60s"
"""The default where neither --budget nor --modules is given."""


@command(
    workers=True,
    epilog="Examples:\n\n"
    "  relaxfuzz run\n\n"
    "  relaxfuzz run FuseOps FuseTIR --budget 5m --seed 1\n\n"
    "  relaxfuzz run 'FuseOps(fuse_opt_level=2)' --modules 200\n\n"
    "  relaxfuzz run my_passes.py:make_pass --stage legalized --exempt idempotent\n\n"
    "  relaxfuzz run --family tensorir   (passes of tvm.tirx.transform and tvm.s_tir.transform)\n\n"
    "  relaxfuzz run --family dlight   (GPU schedules; no GPU is needed)\n\n"
    "  relaxfuzz run --family dlight --device cuda   (executed on a GPU, too)\n\n"
    "  relaxfuzz run --family arith   (TVM's simplifier, bounds and proofs)\n\n"
    "  relaxfuzz run --seeds model.onnx --seeds my_models:llama   (fuzz around your models)\n\n"
    "  relaxfuzz run --changed-since origin/main --tvm-source ~/tvm   (for a pull request)\n\n"
    "  relaxfuzz run --scheduler tcp://10.0.0.7:8786 --budget 8h",
)
def run(
    passes: Passes = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long to fuzz: 90s, 5m, 1h. Default: 60s."),
    ] = None,
    modules: Annotated[int | None, typer.Option(min=1, help="Stop after so many modules.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed gives the same modules.")
    ] = None,
    workers: Workers = None,
    block: Block = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    oracle: Oracles = None,
    out: Out = OUT,
    json: Json = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    known_update: KnownUpdate = False,
    family: Family = None,
    device: Device = None,
    like: Like = None,
    stage: Stages = None,
    exempt: Exempt = None,
    fail_on: FailOn = None,
    loud: Loud = None,
    seeds: Seeds = None,
    seed_share: SeedShare = SEED_SHARE,
    changed_since: Annotated[
        str | None,
        typer.Option(
            metavar="REV",
            help="Only passes that the changes of TVM's source since this commit, branch or tag "
            "affect.",
            show_default=False,
        ),
    ] = None,
    tvm_source: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The git checkout for --changed-since. Default: that which the installed TVM "
            "comes from.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Generate modules and check passes on them until the budget is used up."""
    import dataclasses
    import random

    from ..affected.passes import affected
    from ..campaign.campaign import CampaignConfig
    from ..campaign.schedule import MODULES_IN_BLOCK
    from ..cluster.where import asked
    from ..findings.known import Choice
    from ..session.fuzzing import Fuzzing
    from ..session.seeds import seeds as seeds_of
    from ..session.session import session
    from ..session.silences import lifts_known, loud_rules
    from ..user_input.errors import UserError
    from ..user_input.options import CampaignOptions, Relaxations
    from ..user_input.targets import device_named, family_named, oracles_of, targets

    own = Relaxations(like=like, stages=tuple(stage or ()), exempt=tuple(exempt or ()))
    where = asked(scheduler, cluster)
    chosen = targets(passes or (), own, family=family and family_named(family))
    everything = not passes
    if changed_since is not None:
        change = affected(changed_since, tvm_source)
        asked_for, chosen = chosen, change.among(chosen)
        everything = everything and chosen == asked_for
        print(*change.lines(chosen), sep="\n", file=sys.stderr)
        if not chosen:
            return 0
    elif tvm_source is not None:
        raise UserError("--tvm-source is the checkout for --changed-since, which is not given")
    config = CampaignConfig(
        device=None if device is None else device_named(device, chosen),
        seed=random.SystemRandom().randrange(2**31) if seed is None else seed,
        targets=chosen,
        seconds=CampaignOptions(budget=budget, modules=modules).time_budget(BUDGET),
        modules=modules,
        oracles=oracles_of(tuple(oracle) if oracle else None),
        compositions=everything,
        modules_in_block=block or MODULES_IN_BLOCK,
    )
    with session(
        out,
        workers or cores(),
        Choice(
            folders=tuple(known or ()),
            shipped=not (no_known or lifts_known(loud)),
            update=known_update,
        ),
        as_json=json,
        where=where,
        loud=loud_rules(tuple(loud or ()), where),
        calls=[target.call for target in chosen if target.call is not None],
        campaign="relaxfuzz run",
    ) as made:
        config = dataclasses.replace(
            config,
            is_known=made.expected.presumes,
            seeds=seeds_of(seeds or (), seed_share, made),
        )
        named = tuple(target.name for target in chosen) if not everything else None
        finished = Fuzzing(config, made, command="run").run(named)
        return made.conclude(
            finished.modules,
            finished.checks,
            finished.seconds,
            fail_on=fail_on or Grade.C,
            compared=any(stats.compared for stats in finished.stats.values()),
            named=oracle or (),
        )

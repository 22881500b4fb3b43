"""`relaxfuzz run`: generate modules, check passes on them, report."""

from __future__ import annotations

from ..user_input.settings import Settings
from .app import command


def _early(given: Settings, **rest: object) -> None:
    from ..user_input import vocabulary

    given.seconds()
    vocabulary.check(passes=given.passes, oracles=given.oracles)


@command(
    workers=True,
    early=_early,
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
def run(given: Settings) -> int:
    """Generate modules and check passes on them until the budget is used up."""
    import dataclasses

    from ..findings.dedup import FAIL_ON
    from ..loading.targets import targets_of
    from ..session.chosen import affected_targets, campaign_of, skip_survey
    from ..session.clock import Clock, process_began
    from ..session.fuzzing import Fuzzing
    from ..session.seeds import seeds
    from ..session.session import session

    skip_survey(given)
    chosen = targets_of(given)
    if not (affected := affected_targets(given, chosen)):
        return 0
    everything = not given.passes and affected == chosen
    config = campaign_of(given, affected, everything=everything)
    calls = [target.call for target in affected if target.call is not None]
    with session(given, calls=calls, campaign="relaxfuzz run") as made:
        config = dataclasses.replace(
            config,
            is_known=made.expected.presumes,
            seeds=seeds(given.seeds, given.seed_share, made),
        )
        clock = None if config.seconds is None else Clock(config.seconds, process_began())
        state = (
            Fuzzing(
                config,
                made,
                command="run",
                stop_at_first=(given.fail_on or FAIL_ON) if given.until_first else None,
                named=given.oracles,
                clock=clock,
            )
            .run()
            .state
        )
        return made.conclude(
            state.modules,
            state.checks,
            state.seconds,
            fail_on=given.fail_on,
            compared=any(stats.compared for stats in state.stats.values()),
            named=given.oracles,
        )

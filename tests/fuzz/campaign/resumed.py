"""A campaign that goes on with the last one of its folder: `resumed.py OUT SEED MODULES [PASS]...`.

A process of its own, to be killed. Where passes are named, nothing is known of them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from relaxfuzz.fuzz.campaign.campaign import CampaignConfig
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.session.fuzzing import Fuzzing
from relaxfuzz.fuzz.session.session import Session, session
from relaxfuzz.fuzz.user_input.targets import Relaxations, targets


def go_on(
    made: Session, seed: int, modules: int, passes: Sequence[str], *, stop_at_first: bool = False
) -> Finished:
    chosen = targets(passes, Relaxations())
    config = CampaignConfig(
        seed=seed,
        targets=chosen,
        modules=modules,
        compositions=not passes,
        avoid=made.expected.triggers(chosen),
    )
    fuzzing = Fuzzing(config, made, command="test", resume=True, stop_at_first=stop_at_first)
    return fuzzing.run(())


if __name__ == "__main__":
    out, seed, modules, *passes = sys.argv[1:]
    with session(Path(out), 2, Choice(shipped=not passes), as_json=False) as made:
        finished = go_on(made, int(seed), int(modules), passes)
        made.conclude(finished.modules, finished.checks, finished.seconds)

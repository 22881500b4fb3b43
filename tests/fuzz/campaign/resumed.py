"""A campaign that goes on with the last one of its folder: `resumed.py OUT SEED MODULES [PASS]...`.

A process of its own, to be killed. Where passes are named, nothing is known of them. With the
variable `DIES` in its environment, it kills itself when it has written what it has done so far.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relaxfuzz.fuzz.campaign.campaign import CampaignConfig
from relaxfuzz.fuzz.campaign.events import Finished
from relaxfuzz.fuzz.campaign.recorder import Recorder
from relaxfuzz.fuzz.campaign.seeds import Seeds
from relaxfuzz.fuzz.campaign.state import State
from relaxfuzz.fuzz.findings.known import Choice
from relaxfuzz.fuzz.session.fuzzing import Fuzzing
from relaxfuzz.fuzz.session.session import Session, session
from relaxfuzz.fuzz.user_input.targets import Relaxations, targets
from relaxfuzz.oracles.grades.grade import Grade


def go_on(
    made: Session,
    seed: int,
    modules: int,
    passes: Sequence[str],
    *,
    stop_at_first: Grade | None = None,
    seeds: Sequence[Seeds] = (),
) -> Finished:
    chosen = targets(passes, Relaxations())
    config = CampaignConfig(
        seed=seed,
        targets=chosen,
        modules=modules,
        compositions=not passes,
        is_known=made.expected.presumes,
        seeds=tuple(seeds),
    )
    fuzzing = Fuzzing(config, made, command="test", resume=True, stop_at_first=stop_at_first)
    return fuzzing.run(())


def kill(pid: int) -> None:
    """The driver and its zygote, as a machine that loses power does."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for each in (*map(int, children), pid):
        os.kill(each, signal.SIGKILL)


def die_at_first_checkpoint() -> None:
    block = Recorder.block

    def dies(self: Recorder, state: State, *done: Any) -> None:
        block(self, state, *done)
        self.checkpoint(state)
        kill(os.getpid())

    Recorder.block = dies  # type: ignore[method-assign]


if __name__ == "__main__":
    if "DIES" in os.environ:
        die_at_first_checkpoint()
    out, seed, modules, *passes = sys.argv[1:]
    with session(Path(out), 2, Choice(shipped=not passes), as_json=False) as made:
        finished = go_on(made, int(seed), int(modules), passes)
        made.conclude(finished.modules, finished.checks, finished.seconds)

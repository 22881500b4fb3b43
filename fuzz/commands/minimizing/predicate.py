"""Minimization by a command of the user's that says which modules are interesting."""

from __future__ import annotations

import dataclasses

from ...minimize.findings import ASKED, backwards
from ...minimize.parallel import State
from ...minimize.predicate import Command, shrink_by
from ...system.files import write_whole
from ...user_input.mistake import Mistake
from .conclusion import conclude
from .work import MORE, Work


def by_predicate(work: Work) -> int:
    """Minimize the module as long as the command says yes; the exit code.

    Raises:
        Mistake: the command cannot be started, or says no from the beginning.
    """
    command = _command(work)
    former = work.former()
    state = State(module=work.target.module) if former is None else former.state
    if former is None:
        _ask_first(work, command)
    work.keep(state, None)
    trail = [work.target.module] if former is None else [state.module]
    reached = shrink_by(
        command,
        state,
        workers=work.request.workers,
        over=work.over,
        progress=lambda state: work.progress(state, None),
        trail=trail,
        faults=work.faults,
    )
    module = trail[0]
    for candidate in backwards(trail):
        seen = [command(candidate) for _ in range(ASKED)]
        work.flaky |= not all(seen)
        if any(seen):
            module = candidate
            break
    if module != reached.module:
        reached = dataclasses.replace(reached, module=module, ended=False)
    write_whole(work.out, work.module_text(module))
    conclude(work, reached)
    return 3 if work.faults else 0


def _command(work: Work) -> Command:
    try:
        return Command(work.request.predicate or "")
    except ValueError as error:
        raise Mistake(f"--predicate: {error}") from None


def _ask_first(work: Work, command: Command) -> None:
    try:
        answers = [command.ask(work.target.module) for _ in range(1 + MORE)]
    except OSError as error:
        raise Mistake(f"--predicate cannot be started: {error}") from None
    code, said = answers[0]
    if all(code != 0 for code, _ in answers):
        last = said.strip().splitlines()[-1:] or ["it says nothing"]
        raise Mistake(
            f"the predicate does not find '{work.target}' interesting: exit code {code}, {last[0]}"
        )
    failed = sum(code != 0 for code, _ in answers)
    if failed:
        work.flaky = True
        work.shown.line(f"flaky: the predicate says no in {failed} of {1 + MORE} runs")

"""The end of a minimization: what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...findings.finding import Finding
from ...minimize.parallel import State
from ...output.readable import sentence, visible
from ...output.terminal import counted, duration
from .events import about, printed
from .work import Work, size

Other = tuple[Finding, Path]
"""What was met on the way, and where it is kept."""


def nothing(work: Work) -> int:
    """Say that nothing is wrong with the module; the exit code."""
    if work.request.json:
        printed({"event": "nothing", "module": str(work.target)})
    else:
        print(f"Nothing is wrong with '{work.target}' that the oracles can see.")
    return 0


def conclude(
    work: Work, state: State, finding: Finding | None = None, others: Sequence[Other] = ()
) -> None:
    """Say what was written; a checkpoint is left only where there is more to do."""
    if state.ended:
        work.path.unlink(missing_ok=True)
    work.shown.close()
    for fault in work.faults:
        work.shown.line(f"fault of relaxfuzz: {fault}", style="bold red")
    if work.request.json:
        printed(
            {
                "event": "minimized",
                "path": str(work.out),
                "before": dict(zip(("bindings", "functions"), work.before, strict=True)),
                **work.counts(state),
                "ended": state.ended,
                "flaky": work.flaky,
                **({} if finding is None else about(finding)),
                "others": [{**about(other), "path": str(at)} for other, at in others],
            }
        )
        return
    for line in _lines(work, state, finding, others):
        print(visible(line))


def _lines(
    work: Work, state: State, finding: Finding | None, others: Sequence[Other]
) -> Iterator[str]:
    if finding is not None:
        yield named(finding)
        if finding.calls:
            yield f"Pass: {'; '.join(map(str, finding.calls))}"
    (bindings, functions), (fewer, less) = work.before, size(state.module)
    yield (
        f"{counted(bindings, 'binding')} in {counted(functions, 'function')} before, "
        f"{counted(fewer, 'binding')} in {counted(less, 'function')} now; "
        f"{counted(state.tried, 'candidate')} tried, {state.accepted} held, "
        f"{duration(work.seconds())}."
    )
    if work.flaky:
        yield "Flaky: it does not come out of every run."
    if not state.ended:
        why = "interrupted" if work.interrupt.stop.is_set() else "the budget is used up"
        yield f"Not at the end: {why}; --resume goes on from '{work.path}'."
    for other, path in others:
        yield f"Met on the way: {named(other)}\n  {path}"
    yield str(work.out)


def named(finding: Finding) -> str:
    """What is wrong, in one line."""
    return sentence(f"{finding.pass_name}: {finding.title} ({finding.oracle})")

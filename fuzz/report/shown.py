"""Entries as the page shows them, with their code highlighted."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from ...oracles.text.exhibit import Exhibit
from ..findings.finding import Finding
from ..reproducer.account import promised
from . import code
from .data import Entry, Report, State
from .told import happened, replay, reproducer
from .visible import readable

MOST_CODE = 2_500_000
"""Characters of code in a page, highlighting included; entries behind that go without."""

PRINTED = "\n# from tvm.script import"
"""How a printed module begins."""

NOTHING = Markup("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An entry, with what the page says of it."""

    entry: Entry
    promise: str = ""
    source: str = ""
    """Who makes the promise."""
    replay: str = ""
    """The command that sees it again."""
    happened: str = ""
    sides: str = ""
    """What the two sides of the comparison are."""
    compared: Markup = NOTHING
    module: Markup = NOTHING
    reproducer: Markup = NOTHING
    whole: bool = False
    """The reproducer is all there, to be copied."""
    cut: bool = False
    """There is more, but not in this page."""


def groups(report: Report) -> dict[State, list[Shown]]:
    """The entries by state; new ones are the last to go without their code."""
    groups: dict[State, list[Shown]] = {state: [] for state in State}
    left = MOST_CODE
    for entry in report.entries:
        shown = _shown(report, entry, cut=left <= 0)
        left -= sum(map(len, (shown.happened, shown.compared, shown.module, shown.reproducer)))
        groups[entry.state].append(shown)
    return groups


def _shown(report: Report, entry: Entry, *, cut: bool) -> Shown:
    finding = entry.shown
    if finding is None:
        return Shown(entry=entry)
    promise, source = promised(finding)
    command = replay(report, finding)
    if cut:
        return Shown(entry=entry, promise=promise, source=source, replay=command, cut=True)
    text = reproducer(entry)
    exhibit = finding.exhibit
    module = finding.source or finding.module if exhibit is None else exhibit.module
    return Shown(
        entry=entry,
        promise=promise,
        source=source,
        replay=command,
        happened=_happened(finding),
        sides="" if exhibit is None else f"{exhibit.left_label} → {exhibit.right_label}",
        compared=NOTHING if exhibit is None else _compared(exhibit),
        module=code.python(module),
        reproducer=code.python(text),
        whole=readable(text) == text,
    )


def _compared(exhibit: Exhibit) -> Markup:
    """The difference; what there is of the left side, if not the module, where there is none."""
    # The labels, which a difference begins with, stand above it.
    _, _, hunks = exhibit.diff.partition("\n@@")
    if hunks:
        return code.diff(f"@@{hunks}")
    return code.python("" if exhibit.left == exhibit.module else exhibit.left)


def _happened(finding: Finding) -> str:
    """The oracle's account without the module, unless the title has said it all."""
    detail = happened(finding)
    if finding.exhibit is not None:
        detail = detail.partition(PRINTED)[0].rstrip()
    return "" if detail == finding.title else readable(detail)

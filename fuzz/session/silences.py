"""Silences of a command: the rules that kept oracles quiet, and the passes without a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ...oracles.silence.inventory import (
    EXCUSES,
    EXEMPTION,
    KNOWN,
    NO_ARGUMENTS,
    REJECTION,
    RULES,
    UNCHANGED,
)
from ...oracles.silence.log import ALL, Answer, Silence, variables
from ...oracles.silence.rule import SilenceRule
from ..output.readable import sentence
from ..output.terminal import columns, counted
from ..process.targets import PassStats, added
from ..system.environment import HERE, Environment
from ..system.errors import UserError, near

NOTHING_COMPARED = 4
"""The exit code of a command in which nothing was compared."""

SHOWN = 400
"""Most characters of a line that lists passes."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A report that a rule withheld in a check."""

    label: str
    """The pass or the pipeline."""
    oracle: str
    silence: Silence

    @property
    def event(self) -> dict[str, object]:
        """The report as a JSON event."""
        return {
            "event": "silenced",
            "pass": self.label,
            "oracle": self.oracle,
            "rule": self.silence.rule,
            "report": self.silence.report,
            "reason": self.silence.why or RULES[self.silence.rule].excuses,
        }


def kept(asked: Iterable[tuple[str, Answer]]) -> list[Kept]:
    """The excuses among the silences of checks, in the order of `asked`.

    Args:
        asked: the answers of the oracles, each with the pass or the pipeline.
    """
    return [
        Kept(label, answer.oracle, silence)
        for label, answer in asked
        for silence in answer.silences
        if silence.rule in EXCUSES
    ]


def main_reason(answers: Sequence[Answer]) -> str:
    """The most informative reason why an oracle was silent; empty if it compared each time.

    Most passes leave a module unchanged. This says nothing about other modules, so that reason
    comes last. A reason in the module itself comes first, even if rare. A reason that does not
    hold for all has its number before it.
    """
    reasons = Counter(
        (_weight(answer.rule), answer.silent) for answer in answers if answer.silent is not None
    )
    best = max(reasons, key=lambda each: (each[0], reasons[each]), default=None)
    if best is None:
        return ""
    some = f"{reasons[best]} of {reasons.total()}: " if len(reasons) > 1 else ""
    return f"{some}{best[1]}"


def _weight(rule: SilenceRule | None) -> int:
    """The weight of a reason, which grows with the user's ability to act on it."""
    return 2 if rule is NO_ARGUMENTS else 0 if rule is UNCHANGED else 1


def print_kept(console: Console, silences: Sequence[Kept]) -> None:
    """Print the reports that rules withheld: for each rule, their number and the first one."""
    reports = [each for each in silences if each.silence.report]
    if not reports:
        return
    numbers = Counter(each.silence.rule for each in reports)
    table = columns("silenced by", "reports", "the first", numbers=("reports",))
    for rule, number in numbers.most_common():
        first = next(each for each in reports if each.silence.rule == rule)
        text = f"{first.label}: {first.oracle}: {first.silence.report}"
        table.add_row(rule, str(number), Text(sentence(text)))
    console.print()
    console.print(table)
    console.print("--loud RULE reports what a rule keeps back; docs/silence.md explains each.")


def loud_rules(names: tuple[str, ...]) -> tuple[str, ...]:
    """Check the rules of silence that the user wants to lift.

    Raises:
        UserError: there is no such rule, or it excuses nothing.
    """
    for name in names:
        if name not in (ALL, *EXCUSES):
            raise UserError(
                f"--loud takes a rule of silence that excuses something, or {ALL}, but got "
                f"{name!r}{near(name, (ALL, *EXCUSES))}"
            )
    return names


def lifts_known(names: Iterable[str] | None) -> bool:
    """Return whether the records of TVM's known bugs should be ignored."""
    return not {KNOWN.name, ALL}.isdisjoint(names or ())


def loud_environment(rules: tuple[str, ...]) -> Environment:
    """The environment of workers in which these rules are lifted."""
    return Environment(variables=variables(rules)) if rules else HERE


def by_rule(stats: Iterable[PassStats]) -> dict[str, int]:
    """Number of checks in which each rule kept an oracle quiet, the most frequent first."""
    total: dict[str, int] = {}
    for each in stats:
        total = added(total, each.silenced)
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def silence_events(stats: Mapping[str, PassStats]) -> Iterator[dict[str, object]]:
    """The counts of a campaign by item of the schedule, as JSON events."""
    for name, each in stats.items():
        if each.silenced or (each.checks + each.inapplicable and not each.compared):
            yield {
                "event": "silences",
                "pass": name,
                "checks": each.checks,
                "compared": each.compared,
                "rules": dict(each.silenced),
            }


def sentence_on_rules(stats: Mapping[str, PassStats]) -> str:
    """The counts of a campaign in one line; empty if no rule kept an oracle quiet."""
    counts = by_rule(stats.values())
    if not counts:
        return ""
    listed = ", ".join(f"{rule} {number}" for rule, number in counts.items())
    return f"checks that rules kept quiet: {listed} (--loud RULE lifts an excuse: docs/silence.md)"


def uncompared(stats: Mapping[str, PassStats]) -> dict[str, list[str]]:
    """The items of the schedule for which nothing was compared, by reason."""
    found: dict[str, list[str]] = {}
    for name, each in stats.items():
        if each.compared == 0 and each.checks + each.inapplicable:
            found.setdefault(_reason(each), []).append(name)
    return found


def _reason(stats: PassStats) -> str:
    if not stats.checks:
        return "applied to no module"
    if stats.silenced.get(REJECTION.name, 0) >= stats.checks:
        return "refused every module"
    if stats.changed:
        exempt = stats.silenced.get(EXEMPTION.name, 0) >= stats.checks
        return "exempt from what was asked" if exempt else "no oracle could compare the result"
    return "left every module as it was"


def lines_on_uncompared(stats: Mapping[str, PassStats]) -> Iterator[str]:
    """The items without a comparison, for people, with one line per reason."""
    for reason, names in uncompared(stats).items():
        passes = counted(len(names), "pass", "passes")
        yield sentence(f"nothing compared of {passes} ({reason}): {', '.join(names)}", SHOWN)

"""The known bugs that a user's module meets: part of the answer, by name and with advice."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...compat.release import versions
from ...corpus.grades import consequence
from ...corpus.knowns import Known
from ...oracles.grades.consequence import Where
from ...oracles.grades.grade import Grade
from ...oracles.identify import failure_of
from ...oracles.identity import FailureKind
from ...oracles.violation import Violation
from ..findings.finding import Finding
from ..findings.known import Choice, Expected
from ..jobs.asking import checked
from ..jobs.jobs import Check, Part
from ..output.terminal import by_grade, counted
from ..process.executor import Executor
from ..process.protocol import LIMITS, Limits

BREAKS = {
    FailureKind.RAISES: "the build fails",
    FailureKind.DIES: "the build dies",
    FailureKind.FORM: "the build fails",
    FailureKind.VALUES: "wrong values",
}
"""The pipeline failures, in words, that break a build. Later steps may repair all others."""


HEADING = "Known bugs of TVM break the build with the pipeline {!r}:"


class BuildEffect(enum.StrEnum):
    """The effect of a known bug on the build of a module."""

    BREAKS = "breaks"
    """The build fails, or computes wrong values."""
    SPECIAL = "special"
    """The build computes wrong values, but only for arguments such as NaN."""
    SHOWS = "shows"
    """A pass of the build shows the bug, but no effect on the build was seen."""
    NONE = "none"
    """Only passes outside the build show it."""


@dataclass(frozen=True, slots=True)
class Met:
    """A known bug that a module meets."""

    known: Known
    finding: Finding
    """The report with the greatest effect."""
    effect: BuildEffect
    place: str = ""
    """The function, the variable and the operator, if one call alone shows the bug."""

    @property
    def grade(self) -> Grade:
        """The grade of the known bug."""
        return consequence(self.known).grade

    def fails(self, fail_on: str) -> bool:
        """Return whether the command fails: the build fails, or wrong values are grave enough."""
        if self.effect not in (BuildEffect.BREAKS, BuildEffect.SPECIAL):
            return False
        return not _is_of_values(self.finding) or consequence(self.known).fails_on(fail_on)

    @property
    def event(self) -> dict[str, object]:
        """The fields of its JSON event."""
        return {
            "grade": self.grade,
            "effect": self.effect,
            "pass": self.finding.pass_name,
            "title": self.finding.title,
            "place": self.place,
            "workaround": self.known.workaround,
        }

    @property
    def lines(self) -> Iterator[str]:
        """The bug in a few lines."""
        where = self.place or self.finding.pass_name
        kind = failure_of(self.finding.violation)[0]
        breaks = self.effect in (BuildEffect.BREAKS, BuildEffect.SPECIAL)
        effect = BREAKS.get(kind, kind) if breaks else self.finding.title
        return about(self.known, f"{where}: {effect}")


def _is_of_values(finding: Finding) -> bool:
    return failure_of(finding.violation)[0] is FailureKind.VALUES


def about(known: Known, where: str) -> Iterator[str]:
    """A known bug in a few lines: its grade, name and place, the fault, and the advice.

    Args:
        where: the place where the module meets it.
    """
    yield f"{consequence(known).grade} {known.name}, {where}"
    yield f"  {known.what}"
    if known.symptoms:
        yield f"  also: {'; '.join(known.symptoms)}"
    if known.workaround is not None:
        yield f"  instead: {known.workaround}"


def breaking(
    executor: Executor, module: str, pipeline: str, *, limits: Limits = LIMITS
) -> tuple[str, ...]:
    """The known bugs of TVM that break a build of a module, each in a few lines; see `about`."""
    job = Check(module=module, pipeline=pipeline, pieces=True)
    expected = Choice().load(versions()["tvm"])
    found = []
    for violation, part in checked(executor, job, limits=limits).located:
        if failure_of(violation)[0] in BREAKS:
            finding = finding_of(job, violation, part)
            where = part.place if part is not None else finding.pass_name
            found += ["\n".join(about(known, where)) for known in expected.of(finding)]
    return tuple(found)


def finding_of(job: Check, violation: Violation, part: Part | None) -> Finding:
    """A violation of a check as an unconfirmed finding, on the part of the module that shows it."""
    return Finding(
        violation=violation,
        module=job.module if part is None else part.module,
        made_of=None if part is None else part.ingredients,
        versions=versions(),
        calls=job.calls,
        pipeline=job.pipeline,
        exempt=job.exempt,
    )


def met(
    expected: Expected,
    steps: Collection[str],
    broken: Collection[str],
    places: Mapping[str, str],
) -> list[Met]:
    """The known bugs that were met, those with the greatest effect first, then by grade.

    Args:
        steps: the passes of the build, and the name of its pipeline.
        broken: the ids of reports on the build itself that break it.
        places: the places of reports, by their ids.
    """

    def effect_of(known: Known, finding: Finding) -> BuildEffect:
        if finding.id in broken:
            special = _is_of_values(finding) and consequence(known).where is Where.CONTRIVED
            return BuildEffect.SPECIAL if special else BuildEffect.BREAKS
        ran = {finding.pipeline, *(call.name for call in finding.calls)} - {None}
        return BuildEffect.SHOWS if ran <= set(steps) else BuildEffect.NONE

    order = list(BuildEffect)
    found = []
    for known, findings in expected.met.items():
        effects = [
            (order.index(effect_of(known, each)), place) for place, each in enumerate(findings)
        ]
        effect, place = min(effects)
        finding = findings[place]
        where = places.get(finding.id, "")
        found.append(Met(known, finding, order[effect], where))
    return sorted(found, key=lambda each: (order.index(each.effect), each.grade, each.known.name))


def lines(found: Sequence[Met], pipeline: str) -> Iterator[str]:
    """The known bugs for people: those of the build in full, the others as a number.

    Args:
        pipeline: the pipeline of the build.
    """
    headings = {
        BuildEffect.BREAKS: HEADING.format(pipeline),
        BuildEffect.SPECIAL: "Known bugs of TVM show in this build for arguments such as NaN only:",
        BuildEffect.SHOWS: "Passes of this build show known bugs; no effect on the build was seen:",
    }
    for effect, heading in headings.items():
        some = [each for each in found if each.effect is effect]
        if some:
            yield heading
        for each in some:
            yield from (f"  {line}" for line in each.lines)
    if others := [each.grade for each in found if each.effect is BuildEffect.NONE]:
        what = f"{counted(len(others), 'known bug')} of passes that this build does not run"
        yield f"{what}: {by_grade(others)} (--json names them)"

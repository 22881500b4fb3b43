"""Known bugs in other words: a finding that no record covers by its key, and the reverse.

A key is what an oracle reports of a pass. One bug may be reported in another way than its record
says; then the modules tell. And another bug may be reported in just that way; then the module has
not what the reproducer of the record has.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...corpus.knowns import ANYTHING, Known
from ...corpus.reading import read_text
from ...oracles.catalogue import catalogue, parts
from ...oracles.passcall import PassCall
from ...oracles.pipelines import PIPELINES
from ..process.executor import Executor, JobFailed, check, check_reproducers
from ..process.jobs import Check, CheckReproducers, Reproduced
from ..user_input.errors import UserError
from .confirm import DEATHS
from .dedup import causes
from .finding import Finding
from .rules import LEGALIZERS

MOST = 32
"""Reproducers that a finding is compared with, those that have most in common with it first."""

FEW = 3
"""Known bugs that a finding may be, at the most."""


def recognized(executor: Executor, finding: Finding, knowns: Iterable[Known]) -> Finding:
    """The finding, with the known bug that it is, or with those that it may be.

    It is a known bug if the module of the reproducer, under the passes of the finding, shows the
    same or has a cause in common with it, and the module of the finding shows what the record says.
    It may be one if only the former holds.

    Args:
        finding: with its evidence.
        knowns: those that may be it.

    Raises:
        ExecutorError: the harness failed at a check.
    """
    suspects = likely(finding, knowns)[:MOST]
    perhaps: list[str] = []
    for known, shown in zip(suspects, reproduced(executor, finding, suspects), strict=True):
        if not _shows(finding, shown):
            continue
        if _shown_by(executor, known, finding):
            return dataclasses.replace(finding, known=known.name, perhaps=())
        perhaps.append(known.name)
    if len(perhaps) > FEW:  # so much the pass does to any module
        perhaps.clear()
    return dataclasses.replace(finding, perhaps=tuple(perhaps))


def unlike(executor: Executor, finding: Finding, knowns: Sequence[Known]) -> tuple[str, ...]:
    """The names of the known bugs whose key the reduced finding has, and nothing else of them.

    It is like one if a trigger of the record is true for its module; if the module of the
    reproducer fails in the same place of TVM; or if one of the two modules may have been reduced
    from the other: it has all that the other has, and fails in the same way. For a legalization
    they have an operator in common, too, unless the record says that any operator will do.

    Args:
        finding: reduced, with its evidence; else none is unlike it.

    Raises:
        ExecutorError: the harness failed at a check.
    """
    if not finding.reduced or finding.evidence is None:
        return ()
    known = [each for each in knowns if each.reproducer is not None]
    shown = reproduced(executor, finding, known)
    return tuple(
        each.name
        for each, one in zip(known, shown, strict=True)
        if not _triggered(each, finding) and not _resembles(finding, each, one)
    )


def _triggered(known: Known, finding: Finding) -> bool:
    assert finding.evidence is not None
    return known.trigger is not None and known.trigger in finding.evidence.triggers


def _resembles(finding: Finding, known: Known, shown: Reproduced) -> bool:
    mine, its = finding.evidence, shown.evidence
    if mine is None or its is None:  # the reproducer ends its process: nothing is known of it
        return True
    place = finding.violation.place
    if place and any(violation.place == place for violation in shown.violations):
        return True
    any_operator = any(part.endswith(ANYTHING) for part in known.expected(finding.full_key) or ())
    by_operator = finding.pass_name in LEGALIZERS and its.ops and not any_operator
    if by_operator and set(its.ops).isdisjoint(mine.ops):
        return False
    return set(its.parts) <= set(mine.parts) or (
        set(mine.parts) <= set(its.parts)
        and any(
            (each.oracle, each.pass_name, *each.key) == finding.full_key
            for each in shown.violations
        )
    )


def likely(finding: Finding, knowns: Iterable[Known]) -> list[Known]:
    """The knowns that share a pass or an operator with the finding, the likeliest first."""
    mine = {finding.pass_name, *parts(finding.pass_name)}
    ops = set() if finding.evidence is None else {*finding.evidence.ops}
    if finding.pass_name.startswith("relax."):
        ops.add(finding.pass_name)
    scores: dict[str, tuple[int, Known]] = {}
    for known in knowns:
        if known.reproducer is None:
            continue
        words = _words(known.reproducer)
        score = 3 * len(mine & known.passes) + sum(
            op.rpartition(".")[2] in words or op in known.passes for op in ops
        )
        if score:
            scores[known.name] = score, known
    return [
        known for _, known in sorted(scores.values(), key=lambda each: (-each[0], each[1].name))
    ]


@functools.cache
def _words(reproducer: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", read_text(reproducer)))


def reproduced(executor: Executor, finding: Finding, knowns: Sequence[Known]) -> list[Reproduced]:
    """What the module of each reproducer shows under the passes of the finding."""
    job = CheckReproducers(
        files=tuple(str(known.reproducer) for known in knowns),
        calls=finding.calls,
        pipeline=finding.pipeline,
        oracles=None if finding.oracle in DEATHS else (finding.oracle,),
        exempt=finding.exempt,
    )
    return check_reproducers(executor, job)


def _shows(finding: Finding, shown: Reproduced) -> bool:
    """The module of a reproducer shows the finding's violation, or has a cause in common."""
    own = {each.cause for each in causes(finding) if each.sure}
    for violation in shown.violations:
        other = dataclasses.replace(finding, violation=violation, evidence=shown.evidence)
        if other.full_key == finding.full_key:
            return True
        if not own.isdisjoint(each.cause for each in causes(other) if each.sure):
            return True
    return False


def _shown_by(executor: Executor, known: Known, finding: Finding) -> bool:
    """The finding's module shows what the record of the known says."""
    for oracle, pass_name in dict.fromkeys((key[0], key[1]) for key in known.keys):
        job = _check_of(finding, oracle, pass_name)
        try:
            violations = check(executor, job) if job is not None else ()
        except (UserError, JobFailed):  # the pass needs arguments
            continue
        if any(known.matches((v.oracle, v.pass_name, *v.key)) for v in violations):
            return True
    return False


def _check_of(finding: Finding, oracle: str, pass_name: str) -> Check | None:
    """The check of the finding's module that may show a violation of the oracle by the pass."""
    oracles = None if oracle in DEATHS else (oracle,)
    calls, pipeline = finding.calls, finding.pipeline
    if pass_name in catalogue and pass_name != finding.pass_name:
        calls, pipeline = (PassCall(f"{pass_name}()"),), None
    elif (name := pass_name.partition(" ")[0]) in PIPELINES:
        calls, pipeline = (), name
    if not calls and pipeline is None:
        return None
    return Check(module=finding.module, calls=calls, pipeline=pipeline, oracles=oracles)

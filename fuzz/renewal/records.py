"""Renewal of the measured facts about known bugs: their identities and consequences.

`relaxfuzz known --renew DIR` renews a user's folder, `make records` the records that relaxfuzz
ships. Records that do not fail on the installed TVM keep their identities.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from ...compat.release import versions
from ...corpus.knowns import (
    KnownReport,
    fields_of,
    identity_from,
    read_toml,
    reports_of,
)
from ...oracles.consequence import stated
from ...oracles.grades.consequence import Consequence
from ...oracles.identity import FORMAT, Identity
from ...oracles.violation import Violation
from ..findings.confirm import measured, take_evidence
from ..findings.finding import Finding
from ..findings.known import tables
from ..jobs.asking import run_reproducer
from ..jobs.reproducers import RunReproducer, ShownViolation
from ..minimize.findings import minimized
from ..process.executor import Executor, JobFailed
from ..system.errors import UserError
from ..system.files import write_whole

SECONDS = 15.0
"""Seconds to minimize the module of a reproducer, which may predate the current minimizer."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """The outcome for a record."""

    name: str
    why_not: str = ""
    """Reason why it was not renewed; empty if it was."""


def renewed(folder: Path, executor: Executor) -> Iterator[Renewed]:
    """Renew the records in a folder.

    Raises:
        UserError: it holds no records of known bugs.
        ExecutorError: the harness failed.
    """
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise UserError(f"no records of known bugs (*.toml) in '{folder}'")
    for path in files:
        yield Renewed(path.stem, renew(path, executor))


def renew(path: Path, executor: Executor) -> str:
    """Rewrite the identities of a record; return the reason if that fails, or an empty text.

    Raises:
        UserError: the file is not a record.
        ExecutorError: the harness failed.
    """
    try:
        fields = read_toml(path)
        reports = reports_of(fields)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    reproducer = path.parent / fields["reproducer"] if "reproducer" in fields else None
    file = reproducer or path.with_suffix(".py")
    why_not, found, gravest = "it has no reproducer", list[Identity](), None
    if file.is_file():
        why_not = "its reproducer does not fail here"
        found, gravest = _measured(file, reports, fields.get("identity", ()), executor)
    write(path, fields, found, gravest)
    return "" if found else why_not


def _measured(
    file: Path,
    reports: tuple[KnownReport, ...],
    before: Iterable[Mapping[str, Any]],
    executor: Executor,
) -> tuple[list[Identity], Consequence | None]:
    """The identities that a reproducer shows, and the gravest consequence.

    Args:
        before: identities of the record; if the file shows none, they get the ingredients of its
            module.
    """
    try:
        module, shown = run_reproducer(executor, RunReproducer(file=str(file), reports=reports))
    except JobFailed:  # no module, or one that this TVM cannot construct
        return [], None
    findings = [_minimized(each, executor) for each in shown]
    # The check of the file itself may be the only one that shows the bug.
    own = Violation("", "", reports[0][2:]).blame(*reports[0][:2])
    found = [each.consequence for each in findings] or [stated(own)]
    seen = [each for each in found if each is not None]
    gravest = min(seen, key=lambda each: each.rank, default=None)
    if findings or not module:
        return merged(_of_all(each, reports) for each in findings), gravest
    evidence = take_evidence(executor, _finding(ShownViolation(None, module)))
    made_of = None if evidence is None else frozenset(evidence.ingredients)
    kept = map(identity_from, before)
    return [dataclasses.replace(each, ingredients=made_of) for each in kept], gravest


def _of_all(finding: Finding, reports: Iterable[Sequence[str]]) -> Identity:
    """The identity, extended to blame all passes for which the oracle reports it."""
    identity = finding.identity
    if identity.blamed != (finding.pass_name,):  # code that several passes share
        return identity
    others = (blamed for name, blamed, *_ in reports if name == finding.oracle)
    return dataclasses.replace(identity, blamed=tuple(dict.fromkeys((*identity.blamed, *others))))


def _minimized(shown: ShownViolation, executor: Executor) -> Finding:
    """The violation of a reproducer on the smallest module that shows it, with the measured facts.

    The gravest consequence of that module and of the reproducer's counts, since earlier passes of a
    pipeline may simplify the smaller one away.
    """
    finding = _finding(shown)
    modules = [finding]
    if shown.module and (shown.calls or shown.pipeline is not None):
        until = time.monotonic() + SECONDS
        with contextlib.suppress(JobFailed):
            smaller = minimized(executor, finding, over=lambda: time.monotonic() > until)
            finding = dataclasses.replace(smaller.finding, reduced=True)
            modules.append(finding)
    seen: list[Consequence] = []
    for each in modules:
        with contextlib.suppress(JobFailed):
            seen += filter(None, [measured(executor, each)])
    gravest = min(seen, key=lambda each: each.rank, default=stated(finding.violation))
    finding = dataclasses.replace(finding, consequence=gravest)
    if not shown.module:
        return finding
    return dataclasses.replace(finding, evidence=take_evidence(executor, finding))


def _finding(shown: ShownViolation) -> Finding:
    return Finding(
        violation=shown.violation or Violation("", "", ()),
        module=shown.module,
        versions=versions(),
        calls=shown.calls,
        pipeline=shown.pipeline,
        reduced=True,
    )


def merged(found: Iterable[Identity]) -> list[Identity]:
    """Merge identities that differ only in the blamed passes into one that names all."""
    by_rest: dict[Identity, dict[str, None]] = {}
    for each in found:
        rest = dataclasses.replace(each, blamed=())
        by_rest.setdefault(rest, {}).update(dict.fromkeys(each.blamed))
    return [dataclasses.replace(rest, blamed=tuple(names)) for rest, names in by_rest.items()]


def write(
    path: Path, fields: Mapping[str, Any], found: list[Identity], gravest: Consequence | None
) -> None:
    """Write a record with these identities and consequence; existing ones stay where there are
    none.

    All other text written by people is not changed.
    """
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    for name in ("identity", "also"):
        document.pop(name, None)
    document["format"] = FORMAT
    if gravest is not None:
        table = tomlkit.inline_table()
        table.update(gravest.fields(versions()["tvm"]))
        document["consequence"] = table
    given = [fields_of(each) for each in found] or fields.get("identity", [])
    for name, every in (("identity", given), ("also", fields.get("also", []))):
        if every:
            document[name] = tables(every)
    write_whole(path, tomlkit.dumps(document))

"""Renewal: the identities of known bugs and of stored findings, made anew.

`make records` writes those of the records that come with relaxfuzz, and the list of functions that
several of them share; `relaxfuzz known --renew DIR` renews a folder of the user's. What does not
fail on the installed TVM keeps the identity that it has.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from ...compat.release import versions
from ...corpus.knowns import (
    SHIPPED,
    Report,
    fields_of,
    identity_from,
    knowns,
    read_toml,
    reports_of,
)
from ...oracles.identity import FORMAT, SHARED, FailureKind, Identity, Sameness, compare
from ...oracles.tiers import ORACLES
from ...oracles.violation import Violation
from ..findings.confirm import take_evidence
from ..findings.finding import Finding
from ..findings.known import tables
from ..findings.store import DATABASE
from ..minimize.findings import minimized
from ..process.executor import Executor, JobFailed, run_reproducer
from ..process.local_pool import LocalPool
from ..process.reproducers import RunReproducer, Shown
from ..system.files import write_whole
from ..user_input.errors import UserError
from . import stores

SECONDS = 15.0
"""To minimize the module of a reproducer, which may be older than today's minimizer."""

FEW = 2
"""Records that may share a function: one that more of them have points to no cause."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """The outcome for a record or a finding."""

    name: str
    why_not: str = ""
    """Why it was not renewed; empty if it was."""


def renewed(folder: Path, executor: Executor) -> Iterator[Renewed]:
    """Renew what a folder holds.

    Raises:
        UserError: it holds neither records of known bugs nor findings.
        ExecutorError: the harness failed.
    """
    if (folder / DATABASE).is_file():
        yield from (Renewed(*each) for each in stores.renewed(folder, executor))
        return
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise UserError(f"no records of known bugs (*.toml) in '{folder}'")
    for path in files:
        yield Renewed(path.stem, renew(path, executor))


def renew(path: Path, executor: Executor) -> str:
    """Write the identities of a record anew; why not, or an empty text.

    Raises:
        UserError: the file is no record.
        ExecutorError: the harness failed.
    """
    try:
        fields = in_this_format(read_toml(path))
        reports = reports_of(fields)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    reproducer = path.parent / fields["reproducer"] if "reproducer" in fields else None
    file = reproducer or path.with_suffix(".py")
    why_not, found = "it has no reproducer", []
    if file.is_file():
        why_not = "its reproducer does not fail here"
        found = identities(file, reports, fields.get("identity", ()), executor)
    write(path, fields, found)
    return "" if found else why_not


def identities(
    file: Path,
    reports: tuple[Report, ...],
    before: Iterable[Mapping[str, Any]],
    executor: Executor,
) -> list[Identity]:
    """The identities that a reproducer shows; the same one under several passes is one.

    Args:
        before: those that the record has; where the file shows none, they get the ingredients of
            its module.
    """
    try:
        module, shown = run_reproducer(executor, RunReproducer(file=str(file), reports=reports))
    except JobFailed:  # no module, or one that this TVM does not build
        return []
    found = [_of_all(_identity(each, executor), each, reports) for each in shown]
    if found or not module:
        return merged(found)
    evidence = take_evidence(executor, _finding(Shown(None, module)))
    made_of = None if evidence is None else frozenset(evidence.ingredients)
    kept = map(identity_from, before)
    return [dataclasses.replace(each, ingredients=made_of) for each in kept]


def _of_all(identity: Identity, shown: Shown, reports: Iterable[Sequence[str]]) -> Identity:
    """The identity, which blames all passes of which the oracle reports it."""
    assert shown.violation is not None
    if identity.blamed != (shown.violation.pass_name,):  # code that passes share
        return identity
    oracle = shown.violation.oracle
    others = (blamed for name, blamed, *_ in reports if name == oracle)
    return dataclasses.replace(identity, blamed=tuple(dict.fromkeys((*identity.blamed, *others))))


def _identity(shown: Shown, executor: Executor) -> Identity:
    """The identity of what a reproducer shows, on as small a module as shows it."""
    finding = _finding(shown)
    if not shown.module:
        return finding.identity
    if shown.calls or shown.pipeline is not None:
        until = time.monotonic() + SECONDS
        with contextlib.suppress(JobFailed):
            smaller = minimized(executor, finding, over=lambda: time.monotonic() > until)
            finding = dataclasses.replace(smaller.finding, reduced=True)
    return dataclasses.replace(finding, evidence=take_evidence(executor, finding)).identity


def _finding(shown: Shown) -> Finding:
    return Finding(
        violation=shown.violation or Violation("", "", ()),
        module=shown.module,
        versions=versions(),
        calls=shown.calls,
        pipeline=shown.pipeline,
        reduced=True,
    )


def merged(found: Iterable[Identity]) -> list[Identity]:
    """Identities that differ only in who is blamed, as one that names all."""
    by_rest: dict[Identity, dict[str, None]] = {}
    for each in found:
        rest = dataclasses.replace(each, blamed=())
        by_rest.setdefault(rest, {}).update(dict.fromkeys(each.blamed))
    return [dataclasses.replace(rest, blamed=tuple(names)) for rest, names in by_rest.items()]


def in_this_format(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record of this format, from those of this one or of format 3."""
    new = {name: value for name, value in fields.items() if name not in _OLD}
    if "keys" in fields:
        new["reports"] = list(map(list, dict.fromkeys(map(_report, fields["keys"]))))
    return new


def _report(key: list[str]) -> tuple[str, ...]:
    """Oracle and blamed of a key, and what the grade depends on besides."""
    oracle, blamed, *rest = key
    of_grade = rest and oracle in ORACLES and rest[0] in ORACLES[oracle].grade_of
    return (oracle, blamed, rest[0]) if of_grade else (oracle, blamed)


def write(path: Path, fields: Mapping[str, Any], found: list[Identity]) -> None:
    """Write a record with these identities; those that it has stay if there are none.

    All else that people have written stays as it is.
    """
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    for name in (*_OLD, "identity", "also"):
        document.pop(name, None)
    if "reports" not in document:
        reports = tomlkit.array().multiline(True)
        reports.extend(fields["reports"])
        document["reports"] = reports
    document["format"] = FORMAT
    given = [fields_of(each) for each in found] or fields.get("identity", [])
    for name, every in (("identity", given), ("also", fields.get("also", []))):
        if every:
            document[name] = tables(every)
    write_whole(path, tomlkit.dumps(document))


_OLD = ("keys", "key_format", "like", "trigger")
"""Fields of records of format 3."""


def shared(every: Iterable[tuple[str, Identity]]) -> list[str]:
    """The functions that more than `FEW` records have.

    Args:
        every: names of records, each with an identity.
    """
    of_records = {
        (name, function)
        for name, identity in every
        if identity.failure in (FailureKind.RAISES, FailureKind.DIES)
        for function in identity.site
    }
    counts = Counter(function for _, function in of_records)
    return sorted(function for function, count in counts.items() if count > FEW)


def alike(every: Iterable[tuple[str, Identity]]) -> list[tuple[str, str]]:
    """Pairs of records that have one identity."""
    found = list(every)
    pairs = {
        tuple(sorted((one, other)))
        for number, (one, mine) in enumerate(found)
        for other, its in found[:number]
        if one != other and compare(mine, its) is Sameness.SAME
    }
    return sorted((one, other) for one, other in pairs)


def main() -> int:
    """Renew the records that come with relaxfuzz; print what is kept and what is alike.

    Names on the command line: only these records.
    """
    files = [
        p for p in sorted(SHIPPED.glob("*.toml")) if p.stem in sys.argv[1:] or not sys.argv[1:]
    ]
    with LocalPool(2) as pool, ThreadPoolExecutor(2) as threads:
        for path, why_not in zip(files, threads.map(lambda p: renew(p, pool), files), strict=True):
            if why_not:
                print(f"{path.stem}: kept: {why_not}", flush=True)
    every = [(each.name, identity) for each in knowns() for identity in each.identities]
    SHARED.write_text("".join(f"{name}\n" for name in shared(every)), encoding="utf-8")
    for one, other in alike(every):
        print(f"{one} and {other} have one identity")
    return 0


if __name__ == "__main__":
    sys.exit(main())

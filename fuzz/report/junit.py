"""The report as JUnit XML, which Jenkins, GitLab and most CI services show as tests.

A bug is a test case in the suite of the last run that met it. It fails while it is open, is skipped
while it is known, and passes once it is fixed. A pass without open bugs is a test case that passes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ...corpus.knowns import fields_of
from ..output.readable import one_line, readable
from ..process.targets import marked
from .data import Entry, Report, State, compared, detail, expected
from .matrix import bare

NAME = "relaxfuzz"

LONGEST = 300
"""Characters of an attribute, which CI services show as one line."""


def junit(report: Report) -> str:
    """The document."""
    root = Element("testsuites", {"name": NAME})
    for number, entries in _by_run(report).items():
        run = report.runs.get(number)
        suite = SubElement(root, "testsuite", {"name": f"{NAME} {number}" if run else NAME})
        about: dict[str, object] = {"store": report.folder, "tvm": report.tvm}
        if run is not None:
            suite.set("timestamp", time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(run.started)))
            suite.set("time", f"{run.seconds:.3f}")
            about |= {"command": run.command, "seed": run.seed, "checks": run.checks}
            about |= {"modules": run.modules, "finished": run.finished, **run.versions}
        _properties(suite, about)
        for entry in entries:
            _case(suite, report, entry)
        if number == max(report.runs, default=0):
            for item, seconds in _passing(report):
                attributes = {
                    "classname": NAME,
                    "name": _line(marked(item)),
                    "time": f"{seconds:.3f}",
                }
                SubElement(suite, "testcase", attributes)
        _count(suite)
    _count(root)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _by_run(report: Report) -> dict[int, list[Entry]]:
    last = max(report.runs, default=0)
    grouped: dict[int, list[Entry]] = {}
    for entry in report.entries:
        grouped.setdefault(entry.runs[-1] if entry.runs else last, []).append(entry)
    grouped.setdefault(last, [])
    return dict(sorted(grouped.items()))


def _case(suite: Element, report: Report, entry: Entry) -> None:
    blamed, oracle = entry.places[0] if entry.places else ("", "")
    case = SubElement(
        suite,
        "testcase",
        {
            "classname": _line(f"{NAME}.{blamed}" if blamed else NAME),
            # The id distinguishes bugs with equal titles.
            "name": _line(f"{oracle}: {entry.title} [{entry.id}]"),
            "time": "0.000",
        },
    )
    finding = entry.finding
    if finding is not None:
        path = entry.evidence[0].reproducer
        _properties(
            case,
            {
                "state": entry.state,
                "grade": entry.grade,
                "finding": finding.id,
                **({} if finding.has_contract else {"contract": "none"}),
                "identity": json.dumps(fields_of(finding.identity), ensure_ascii=False),
                "place": finding.violation.place,
                "reproducer": "" if path is None else path,
                "replay": report.replay(finding),
                **({"first_bad": finding.first_bad} if finding.first_bad else {}),
            },
        )
    if entry.is_open:
        failure = SubElement(
            case,
            "failure",
            {"message": _line(f"{entry.grade}: {entry.title}"), "type": _line(oracle)},
        )
        if finding is not None:
            parts = [f"{finding.label}: {finding.title}", f"Expected: {expected(finding)}"]
            parts += [detail(finding), report.replay(finding)]
            failure.text = _text("\n\n".join(parts))
    elif entry.state is not State.FIXED:
        SubElement(case, "skipped", {"message": _line(entry.closed_because), "type": entry.state})
    if finding is not None:
        SubElement(case, "system-out").text = _text(compared(finding))


def _passing(report: Report) -> Iterator[tuple[str, float]]:
    """Passes that the last run checked and that have no open bugs, and the seconds of each."""
    blamed = {name for entry in report.entries if entry.is_open for name in entry.passes}
    if report.last is not None:
        for item, stats in report.last.stats.items():
            if stats.checks and bare(item) not in blamed:
                yield item, stats.seconds


def _properties(parent: Element, about: Mapping[str, object]) -> None:
    properties = SubElement(parent, "properties")
    for name, value in about.items():
        SubElement(properties, "property", {"name": _line(name), "value": _line(str(value))})


def _count(parent: Element) -> None:
    cases = list(parent.iter("testcase"))
    parent.set("tests", str(len(cases)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        parent.set(name, str(sum(case.find(kind) is not None for case in cases)))


_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
"""Characters that XML forbids and `visible` leaves."""


def _text(text: str) -> str:
    return _NO_CHARACTERS.sub("\ufffd", readable(text))


def _line(text: str) -> str:
    return _NO_CHARACTERS.sub("\ufffd", one_line(text, LONGEST))

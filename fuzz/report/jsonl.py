"""The report as JSON lines, for programs; docs/report-formats.md describes the fields."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from ...corpus.knowns import fields_of
from ...generators.stages import Stage
from ...oracles.identity import FORMAT
from ..process.targets import item_has_contract
from ..system.serialize import plain
from .behaviours import did
from .data import Entry, Report, expected
from .shares import shares

SCHEMA = 3
"""The version of the lines. It changes when a field is removed or changes its meaning."""


OF_PASSES = {"stats", "known_reports", "samples"}
"""Fields of runs that their lines omit: the lines of passes have the sums."""


def jsonl(report: Report) -> str:
    """One JSON object per line, each with `schema` and `kind`."""
    made = [_report(report), *_runs(report), *_passes(report)]
    made += [_entry(report, entry) for entry in report.entries]
    return "".join(f"{json.dumps({'schema': SCHEMA, **line})}\n" for line in made)


def _report(report: Report) -> dict[str, Any]:
    return {
        "kind": "report",
        "store": str(report.folder),
        "tvm": report.tvm,
        "bugs": report.counts,
        "unconfirmed": report.unconfirmed,
    }


def _runs(report: Report) -> Iterator[dict[str, Any]]:
    for id, run in report.runs.items():
        yield {
            "kind": "run",
            "id": id,
            **{name: value for name, value in plain(run).items() if name not in OF_PASSES},
            "started": _time(run.started),
        }


def _passes(report: Report) -> Iterator[dict[str, Any]]:
    stats, known = report.stats, report.known_reports
    for share in shares(report):
        of = stats[share.name]
        yield {
            "kind": "pass",
            "name": share.name,
            "contract": item_has_contract(share.name),
            "checks": of.checks,
            "inapplicable": of.inapplicable,
            "changed": None if share.changed is None else of.changed,
            "known": known[share.name],
            "seconds": of.seconds,
            "asked": dict(of.sampled),
            "did": dict(did(of)),
            "bugs": share.bugs,
        }


def _entry(report: Report, entry: Entry) -> dict[str, Any]:
    """A bug with findings in the store, or a known bug that was only counted."""
    line = {
        "kind": "finding" if entry.evidence else "known",
        "id": entry.id,
        "state": entry.state,
        "grade": entry.grade,
        "consequence": entry.effect,
        "title": entry.title,
        "places": [{"pass": blamed, "oracle": oracle} for blamed, oracle in entry.places],
        "reports": entry.reports,
        "runs": list(entry.runs),
        "knowns": [known.name for known in entry.knowns],
        "links": list(entry.links),
        "verdict": entry.verdict,
        "note": entry.note,
        **seen_of(entry),
    }
    finding = entry.finding
    if finding is None:
        return line
    origin, exhibit, path = finding.origin, finding.exhibit, entry.evidence[0].reproducer
    return line | {
        "findings": [{"id": each.finding.id, "why": each.why} for each in entry.evidence],
        "contract": finding.has_contract,
        "identity": fields_of(finding.identity),
        "identity_format": FORMAT,
        "similar": finding.similar,
        "place": finding.violation.place,
        "calls": [str(call) for call in finding.calls],
        "pipeline": finding.pipeline,
        "expected": expected(finding),
        "detail": finding.detail,
        "module": None if exhibit is None else exhibit.module,
        "left": None if exhibit is None else exhibit.left_label,
        "right": None if exhibit is None else exhibit.right_label,
        "diff": None if exhibit is None else exhibit.diff,
        "reproducer": None if path is None else str(path),
        "replay": report.replay(finding),
        "seed": None if origin is None else origin.seed,
        "index": None if origin is None else origin.index,
        "stage": Stage.RAW if origin is None else origin.stage,
        "pieces": [piece.name for piece in finding.pieces],
        "reduced": finding.reduced,
        "faults": [text for each in entry.findings for text in each.faults],
        "versions": dict(finding.versions),
    }


def seen_of(entry: Entry) -> dict[str, Any]:
    """The times and builds at which a bug was seen."""
    known = entry.seen
    return {
        "first_seen": None if known.first is None else _time(known.first),
        "last_seen": None if known.last is None else _time(known.last),
        "builds": list(known.builds),
        "gone_on": known.gone_on,
        "back": known.is_back,
    }


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

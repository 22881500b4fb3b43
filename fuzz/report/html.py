"""The report as one page: a file that needs nothing else, on a disk or in a browser's sandbox."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import time
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..output.terminal import counted, duration
from . import plots
from .data import Report, State
from .matrix import matrix
from .passes import RARE, shares
from .shown import groups
from .told import NAMES, counts
from .visible import readable, shortened, visible

TEMPLATES = Path(__file__).parent / "templates"

MEANING = {
    State.NEW: "the last run was the first to find them",
    State.SEEN: "runs before found them, too",
    State.KNOWN: "expected of this TVM",
    State.FIXED: "they do not fail any more",
}

PROGRAMS = {
    "tvm": "TVM",
    "tvm_git": "TVM git",
    "tvm_ffi": "tvm-ffi",
    "numpy": "NumPy",
    "hypothesis": "Hypothesis",
    "python": "Python",
}

LONGEST_WORDS = 400
"""Characters of a title, or of anything else that stands in a line of the page's own."""


MOST_REPORTS = 40
"""Findings of one entry that are named."""


def html(report: Report) -> str:
    """The page."""
    style, script = (_text(name) for name in ("style.css", "script.js"))
    page = _environment().get_template("page.html")
    told = _told(report)
    return page.render(
        report=report,
        groups=groups(report),
        states=counts(report),
        names={state: name.capitalize() for state, name in NAMES.items()},
        meaning=MEANING,
        passes=sorted({name for entry in report.entries for name in entry.passes}),
        oracles=sorted({name for entry in report.entries for name in entry.oracles}),
        most_reports=MOST_REPORTS,
        rare=RARE,
        versions=_versions(report),
        matrix=matrix(report),
        shares=shares(report),
        progress=plots.progress(report.runs),
        bugs=plots.bugs_by_run(report.runs, told),
        told=told,
        style=Markup(style),
        script=Markup(script),
        policy=(
            f"default-src 'none'; img-src data:; style-src {_digest(style)}; "
            f"script-src {_digest(script)}; base-uri 'none'; form-action 'none'"
        ),
    )


def _told(report: Report) -> dict[int, tuple[int, int]]:
    """How many bugs that are not expected each run told: for the first time, and again."""
    told = dict.fromkeys(report.runs, (0, 0))
    for entry in report.of(State.NEW, State.SEEN):
        for number in entry.runs:
            new, again = told[number]
            first = number == entry.runs[0]
            told[number] = (new + first, again + (not first))
    return told


def _versions(report: Report) -> dict[str, str]:
    """What the last run, or else any finding, was made with."""
    told = report.last.versions if report.last is not None else {}
    if not told:
        findings = (entry.shown for entry in report.entries)
        told = next((finding.versions for finding in findings if finding is not None), {})
    versions = {"tvm": report.tvm, **told}
    return {
        PROGRAMS[key]: versions[key]
        for key in PROGRAMS
        if versions.get(key, "unknown") != "unknown"
    }


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        finalize=_finalized,
        loader=FileSystemLoader(TEMPLATES),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "counted": counted,
        "date": _date,
        "duration": duration,
        "percent": _percent,
        "readable": readable,
        "words": _words,
    }
    environment.tests |= {"linkable": _linkable}
    environment.globals["State"] = State
    return environment


def _finalized(value: object) -> object:
    """What every expression of a template gives goes through here."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


def _words(text: str) -> str:
    """Something for one line."""
    return shortened(" ".join(visible(text).split()), LONGEST_WORDS)


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def _percent(part: float) -> str:
    """Whole percents, but what is there is never 0 %, and what is missing leaves no 100 %."""
    if 0 < part < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < part < 1 else f"{part:.0%}".replace("%", " %")


def _linkable(link: str) -> bool:
    return re.fullmatch(r"https://[\w.-]+/[\w./#?=&%~-]*", link) is not None


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What the page's policy calls an inline element with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

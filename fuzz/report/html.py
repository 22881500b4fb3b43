"""The report as one self-contained HTML page."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import time
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers.diff import DiffLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, String, Token, _TokenType

from ...oracles.exhibit import Exhibit
from ..findings.finding import Finding
from ..output.readable import one_line, readable, visible
from ..output.terminal import counted, duration
from ..process.targets import marked
from ..reproducer.description import promised
from .behaviours import of_passes
from .data import LEFT_OUT, Entry, EntryState, Report, detail
from .lines import files, is_own
from .shares import RARE, bare, shares
from .silences import silences

TEMPLATES = Path(__file__).parent / "templates"

MEANING = {
    EntryState.NEW: "the last run was the first to find them",
    EntryState.SEEN: "earlier runs found them, too",
    EntryState.KNOWN: "known bugs of this TVM",
    EntryState.FIXED: "they no longer fail",
}

PROGRAMS = {
    "tvm": "TVM",
    "tvm_git": "TVM git",
    "tvm_build": "TVM build",
    "tvm_ffi": "tvm-ffi",
    "numpy": "NumPy",
    "hypothesis": "Hypothesis",
    "python": "Python",
}

LONGEST_WORDS = 400
"""Most characters of a title or another text within a line of the page."""

MOST_REPORTS = 40
"""Most findings of one entry to list."""

MOST_CODE = 2_500_000
"""Most characters of code in a page, including highlighting; later entries have no code."""

PRINTED = "\n# from tvm.script import"
"""The beginning of a printed module."""

CODE_CLASSES: dict[_TokenType, str] = {
    Comment: "c",
    Keyword: "k",
    Name.Decorator: "d",
    Name.Function: "f",
    Number: "n",
    String: "s",
    Generic.Deleted: "del",
    Generic.Inserted: "ins",
    Generic.Heading: "h",
    Generic.Subheading: "h",
}
"""CSS classes of tokens; all other tokens are plain text, which keeps the page small."""

LINK = re.compile(r"https://[\w.-]+/[\w./#?=&%~-]*")

NOTHING = Markup("")


def html(report: Report) -> str:
    """Render the page."""
    style, script = (
        (TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "script.js")
    )
    page = _environment().get_template("page.html")
    # New bugs, and bugs seen before, that each run reported; without known bugs.
    bugs_of_runs = dict.fromkeys(report.runs, (0, 0))
    for entry in report.of(EntryState.NEW, EntryState.SEEN):
        for number in entry.runs:
            new, again = bugs_of_runs[number]
            first = number == entry.runs[0]
            bugs_of_runs[number] = (new + first, again + (not first))
    return page.render(
        report=report,
        groups=views_by_state(report),
        states=report.counts,
        names={state: state.label.capitalize() for state in EntryState},
        meaning=MEANING,
        grades=Counter(entry.grade for entry in report.entries),
        passes=sorted({name for entry in report.entries for name in entry.passes}),
        oracles=sorted({name for entry in report.entries for name in entry.oracles}),
        most_reports=MOST_REPORTS,
        rare=RARE,
        versions=_versions(report),
        shares=shares(report),
        silences=silences(report.stats),
        behaviours=list(of_passes(report.stats)),
        lines=list(files({name: ran for name, ran in report.lines.items() if is_own(name)})),
        bugs_of_runs=bugs_of_runs,
        style=Markup(style),
        script=Markup(script),
        policy=(
            f"default-src 'none'; img-src data:; style-src {_digest(style)}; "
            f"script-src {_digest(script)}; base-uri 'none'; form-action 'none'"
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """An entry with the texts of the page, code highlighted."""

    entry: Entry
    promise: str = ""
    source: str = ""
    """The source of the promise."""
    replay: str = ""
    """The command that checks it again."""
    detail: str = ""
    sides: str = ""
    """The labels of the two sides of the comparison."""
    compared: Markup = NOTHING
    module: Markup = NOTHING
    reproducer: Markup = NOTHING
    is_whole: bool = False
    """True if the reproducer is complete, so that it can be copied."""
    is_cut: bool = False
    """True if code was left out of the page."""


def views_by_state(report: Report) -> dict[EntryState, list[EntryView]]:
    """The entries by state. New ones come first; the last ones lack code if the page is full."""
    groups: dict[EntryState, list[EntryView]] = {state: [] for state in EntryState}
    left = MOST_CODE
    for entry in report.entries:
        view = _view(report, entry, cut=left <= 0)
        left -= sum(map(len, (view.detail, view.compared, view.module, view.reproducer)))
        groups[entry.state].append(view)
    return groups


def _view(report: Report, entry: Entry, *, cut: bool) -> EntryView:
    finding = entry.finding
    if finding is None:
        return EntryView(entry=entry)
    promise, source = promised(finding)
    command = report.replay(finding)
    if cut:
        return EntryView(entry=entry, promise=promise, source=source, replay=command, is_cut=True)
    text = entry.reproducer_text()
    exhibit = finding.exhibit
    return EntryView(
        entry=entry,
        promise=promise,
        source=source,
        replay=command,
        detail=_detail(finding),
        sides="" if exhibit is None else f"{exhibit.left_label} → {exhibit.right_label}",
        compared=NOTHING if exhibit is None else _compared(exhibit),
        module=_python(finding.source or finding.module if exhibit is None else exhibit.module),
        reproducer=_python(text),
        is_whole=readable(text) == text,
    )


def _compared(exhibit: Exhibit) -> Markup:
    """The difference; if there is none, the left side, unless that is just the module."""
    # The page has the labels at the beginning of a difference in the heading.
    _, _, hunks = exhibit.diff.partition("\n@@")
    if hunks:
        # The lexer does not recognize a last line without a line break.
        return _highlighted(f"@@{hunks}\n", DiffLexer(stripnl=False))
    return _python("" if exhibit.left == exhibit.module else exhibit.left)


def _detail(finding: Finding) -> str:
    """The oracle's description without the module; empty if it adds nothing to the title."""
    text = detail(finding)
    if finding.exhibit is not None:
        text = text.partition(PRINTED)[0].rstrip()
    return "" if text == finding.title else readable(text)


def _python(text: str) -> Markup:
    return _highlighted(text, PythonLexer(stripnl=False, ensurenl=False))


def _highlighted(text: str, lexer: Lexer) -> Markup:
    tokens = ((_class(kind), part) for kind, part in lexer.get_tokens(readable(text)))
    parts = []
    for name, group in groupby(tokens, key=lambda token: token[0]):
        code = escape("".join(part for _, part in group))
        parts.append(Markup('<span class="{}">{}</span>').format(name, code) if name else code)
    return Markup("").join(parts)


def _class(kind: _TokenType) -> str:
    while kind is not Token and kind not in CODE_CLASSES:
        assert kind.parent is not None, kind
        kind = kind.parent
    return CODE_CLASSES.get(kind, "")


def _versions(report: Report) -> dict[str, str]:
    found = report.last.versions if report.last is not None else {}
    if not found:
        findings = (entry.finding for entry in report.entries)
        found = next((finding.versions for finding in findings if finding is not None), {})
    versions = {"tvm": report.tvm, **found}
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
        "bare": bare,
        "counted": counted,
        "date": lambda seconds: time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds)),
        "duration": duration,
        "marked": marked,
        "percent": _percent,
        "readable": readable,
        "words": functools.partial(one_line, most=LONGEST_WORDS),
    }
    environment.tests |= {"linkable": LINK.fullmatch}
    environment.globals |= {"State": EntryState, "left_out": LEFT_OUT}
    return environment


def _finalized(value: object) -> object:
    """Escape the value of every expression of a template."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


def _percent(part: float) -> str:
    """Whole percents, with `<1 %` and `>99 %` near the ends."""
    if 0 < part < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < part < 1 else f"{part:.0%}".replace("%", " %")


def _digest(text: str) -> str:
    """The source expression of an inline element for the page's content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

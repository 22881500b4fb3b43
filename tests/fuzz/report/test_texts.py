"""JSON lines and Markdown: whole, true, and safe whatever a module's strings hold."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.process.targets import PassStats
from relaxfuzz.fuzz.report.data import Entry, EntryFinding, EntryState, Report
from relaxfuzz.fuzz.report.jsonl import jsonl
from relaxfuzz.fuzz.report.markdown import LIMIT, code, markdown
from relaxfuzz.oracles.exhibit import Exhibit
from relaxfuzz.oracles.text.frames import Trace
from tests.fuzz.changed import changed

Make = Callable[..., Finding]

NASTY = (
    "</failure>]]>&amp;<script>alert(1)</script>",
    "a|b\\|c\\\\|d `x` ``y`` ```\n~~~\n    # no\n</details></summary><img src=x onerror=y>",
    "@somebody #123 GH-7 apache/tvm#1 https://a.example www.a.example :tada: $x$ [a](b) ![](c)",
    "\x00\x01\x1b[31m\x7f\x85\u2028\u202e\ufeff\ufffe\uffff\ud800 \r\n\t",
    "`" * 40,
)
STRINGS = st.sampled_from(NASTY) | st.text(st.characters(), max_size=60)


def entry(finding: Finding, text: str, path: Path | None = None, **fields: object) -> Entry:
    """An entry in which every string of the finding's is this one."""
    hostile = changed(
        finding,
        oracle=text,
        pass_name=text,
        title=text,
        detail=text,
        key=(text,),
        place=text,
        trace=Trace((text,), text),
        similar=text,
        exhibit=Exhibit(text, text, f"{text}\nleft", text, f"{text}\nright"),
        versions={text: text},
    )
    about = {
        "id": "0123456789",
        "state": EntryState.NEW,
        "title": text,
        "places": ((text, text),),
        "evidence": (EntryFinding(hostile, text, path),),
        "reports": 1,
        "runs": (1,),
        "verdict": None,
        "note": text,
        **fields,
    }
    return Entry(**about)  # type: ignore[arg-type]  # its fields


def report_of(*entries: Entry, text: str = "x", runs: dict[int, Run] | None = None) -> Report:
    run = Run(
        command=text,
        started=0.0,
        workers=1,
        versions={text: text},
        passes=(text,),
        stats={text: PassStats(checks=1)},
        faults=(text,),
        lacking=(text,),
    )
    return Report(
        folder=Path(text.replace("\x00", "")),
        tvm=text,
        entries=entries,
        runs={1: run} if runs is None else runs,
        unconfirmed=0,
    )


@pytest.fixture(scope="module")
def plain(make: Make) -> Finding:
    return make()


IDENTITY = {"failure": "values", "blamed": ["FuseOps"], "site": ["computes other values"]}
"""Of the wrong values, as a record has it."""


# JSON lines


def test_the_lines_are_complete(report: Report) -> None:
    objects = [json.loads(line) for line in jsonl(report).splitlines()]
    by_kind = {
        kind: [each for each in objects if each["kind"] == kind]
        for kind in ("report", "run", "pass", "finding", "known")
    }
    assert sum(map(len, by_kind.values())) == len(objects)
    assert by_kind["report"][0]["bugs"] == {"new": 1, "seen": 1, "known": 1, "fixed": 0}
    assert [run["id"] for run in by_kind["run"]] == [1, 2]
    assert {each["name"]: each["checks"] for each in by_kind["pass"]} == {
        "FuseOps": 800,
        "MyPass()": 2000,
        "default": 40,
    }
    wrong = by_kind["finding"][0]
    assert (wrong["state"], wrong["places"]) == (
        "new",
        [{"pass": "FuseOps", "oracle": "evaluated"}],
    )
    assert (wrong["identity"], wrong["identity_format"]) == (IDENTITY, 4)
    assert (wrong["similar"], wrong["place"]) == ("", "fuse_ops.cc:12")
    assert wrong["diff"].endswith("-        return x\n+        return y")
    assert Path(wrong["reproducer"]).is_file()
    assert wrong["calls"] == ["FuseOps(fuse_opt_level=2)"]


# Markdown

RENDERED = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = {
    "h2",
    "h3",
    "p",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "code",
    "pre",
    "details",
    "summary",
}
SAFE = {"code", "pre"}
"""Where GitHub looks for no mention, no reference and no address."""


class Seen(HTMLParser):
    """The elements of a page, and the text that is in no code."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.bare = ""
        self.code = ""
        self.feed(text)
        self.close()
        assert self.open == [], "an element that does not end"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        assert tag == "code" or not attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if SAFE & set(self.open):
            self.code += data
        else:
            self.bare += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


@settings(max_examples=60)
@example(text=NASTY[1])
@example(text=NASTY[2])
@example(text=NASTY[4])
@given(text=STRINGS)
def test_no_string_is_markup(plain: Finding, text: str) -> None:
    known = entry(plain, text, state=EntryState.KNOWN)
    judged = entry(plain, text, verdict="wontfix")
    made = markdown(report_of(entry(plain, text), known, judged))
    made.encode("utf-8")
    seen = Seen(RENDERED.render(made))
    assert seen.tags <= OURS
    assert seen.tags >= {"h2", "table", "details", "pre"}
    words = set(re.findall(r"[@#]\w|https?:|www\.|<|\w:\w+:", seen.bare))
    assert words == set()


@settings(max_examples=60)
@given(text=STRINGS)
def test_code_shows_what_it_is_given(text: str) -> None:
    made = code(text)
    shown = Seen(RENDERED.renderInline(made))
    assert shown.tags <= {"code"}
    if text.isprintable() and text == " ".join(text.split()):
        assert shown.code == text
        assert html.unescape(made) == (f"<code>{text}</code>" if text else "")


def test_the_summary_of_a_run(report: Report) -> None:
    made = markdown(report)
    assert made.startswith("## relaxfuzz: 1 new bug (1 A)\n")
    seen = Seen(RENDERED.render(made))
    assert "Bugs: 1 new, 1 seen before, 1 known, 0 fixed." in seen.bare
    assert "1,420" not in seen.bare
    assert "1420 checks of 2 targets on 120 modules in 1m00s" in seen.bare
    assert "+        return y" in seen.code
    assert "assert 1 == 2, '<b>wrong</b> & so on'" in seen.code
    assert "relaxfuzz replay" in seen.code


def test_a_summary_is_no_longer_than_github_shows(plain: Finding) -> None:
    long = "\n".join(f"{'x' * 500} {i}" for i in range(200))
    entries = [
        dataclasses.replace(
            entry(plain, "bug", id=f"{i:010}"),
            evidence=(
                EntryFinding(
                    dataclasses.replace(plain, exhibit=Exhibit(long, "a", long, "b", f"{long}y")),
                    "",
                    None,
                ),
            ),
        )
        for i in range(300)
    ]
    entries = [
        dataclasses.replace(
            e,
            evidence=(dataclasses.replace(e.evidence[0], finding=changed(plain, detail=long)),),
        )
        for e in entries
    ]
    made = markdown(report_of(*entries))
    assert LIMIT // 2 < len(made.encode()) < LIMIT + 1000
    assert made.rstrip().endswith("more bugs.")
    assert made.count("0000000299") == 1  # in the table
    Seen(RENDERED.render(made))

"""The page is whole in itself, and shows hostile texts as texts."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from relaxfuzz.corpus.knowns import Known
from relaxfuzz.corpus.versions import Claim
from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.rows import SAME
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.output.readable import visible
from relaxfuzz.fuzz.report.data import Entry, EntryFinding, EntryState, Report
from relaxfuzz.fuzz.report.html import html
from relaxfuzz.fuzz.report.markdown import markdown
from relaxfuzz.oracles.exhibit import Exhibit
from relaxfuzz.oracles.passcall import PassCall

VOID = {"meta", "link", "input"}
LOADING = {"src", "srcset", "data", "action", "formaction", "poster", "background"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    """Its own and that of all in it."""


class Page(HTMLParser):
    """The elements of a page in the order in which they begin; every one is closed in its place."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        assert not self._open, f"{self._open[-1].tag} is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(self.elements[-1])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {key: value or "" for key, value in attrs})
        assert len(element.attributes) == len(attrs), f"{tag} has an attribute twice"
        self.elements.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"{tag} is closed but not open"
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return Page(html(report))


def test_nothing_is_loaded(page: Page) -> None:
    for element in page.elements:
        assert not LOADING & set(element.attributes), element
        href = element.attributes.get("href", "#")
        assert href.startswith(("#", "data:")) or element.tag == "a", element
    assert "@import" not in page.all("style")[0].text
    assert "url(" not in page.all("style")[0].text


def test_the_policy_allows_our_style_and_script_and_nothing_else(page: Page) -> None:
    (policy,) = (
        element.attributes["content"]
        for element in page.all("meta")
        if element.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (element,) = page.all(tag)
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    for element in page.elements:
        assert "style" not in element.attributes, "the policy would drop it"
        assert not any(name.startswith("on") for name in element.attributes), element


def test_everything_is_shown(page: Page, report: Report) -> None:
    (body,) = page.all("body")
    for words in (
        "computes other values",
        "main: result differs at [0, 1]",
        "assert 1 == 2, '<b>wrong</b> & so on'",
        "-        return x",
        "see the mailing list",
        "reported",
        "lift-params-undefined-output",
        "1 finding did not come out again",
        "in 2 of 2 runs",
        "seed 7, module 3, stage raw: FuseOps(fuse_opt_level=2)",
        f"relaxfuzz replay {report.folder}/",
        SAME,
        "2,840",
        "TVM 0.27.0.post1",
    ):
        assert words in body.text, words


def test_every_entry_has_its_grade(page: Page, report: Report) -> None:
    shown = [
        each.attributes["data-grade"]
        for each in page.all("details")
        if "data-grade" in each.attributes
    ]
    assert shown == [entry.grade for entry in report.entries]
    boxes = [
        each.attributes["value"]
        for each in page.all("input")
        if each.attributes.get("name") == "grade"
    ]
    assert boxes == sorted(set(shown))


def test_every_id_is_unique(page: Page) -> None:
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids)), "two elements have one id"


def test_what_is_left_out_on_this_tvm_is_listed(report: Report, a_run: Callable[..., Run]) -> None:
    run = a_run(lacking=("op abs: this TVM has no tvm.relax.op.abs",))
    made = dataclasses.replace(report, entries=(), runs={1: run})
    for text in (Page(html(made)).all("body")[0].text, markdown(made).replace("&#46;", ".")):
        assert "1 left out, which this TVM does not support" in text
        assert "this TVM has no tvm.relax.op.abs" in text.replace("&#58;", ":")
    assert "left out" not in html(dataclasses.replace(made, runs={1: a_run()}))


# Hostile texts

NASTY = (
    "</script><script>alert(1)</script>", "</style><style>*{display:none}", "</title><x-evil>",
    "<img src=x onerror=alert(1)>", "\" onclick=\"alert(1)", "' autofocus onfocus='alert(1)",
    "<!--", "-->", "<![CDATA[", "]]>", "&lt;x-evil&gt;", "&#60;x-evil&#62;", "</pre></details>",
    "</textarea>", "<svg/onload=alert(1)>", "{{ 7 * 7 }}", "{% raw %}", "{# no #}",
    "javascript:alert(1)", "https://a.example/\"><x-evil>", "\x1b]0;title\x07", "\x1b[31m",
    "\x00", "\x9b", "\u202edesrever", "\u2066", "\ufeff", "\u2028", "\ud800", "`${alert(1)}`",
    "\r\n", "\t", "`", "\\", "%s", "…", "\N{COMBINING LONG SOLIDUS OVERLAY}" * 40,
)  # fmt: skip

hostile = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(st.characters(codec=None), max_size=8)), max_size=4
).map("".join)


def hostile_report(text: Callable[[str], str], make: Callable[..., Finding], file: Path) -> Report:
    """A report in which every field that comes from outside has its own text."""
    file.write_bytes(text("reproducer").encode("utf-8", "surrogatepass"))
    sides = (text(part) for part in ("module", "left label", "left", "right label", "right"))
    finding = make(
        title=text("title"),
        oracle=text("oracle"),
        pass_name=text("pass"),
        detail=text("detail"),
        calls=(PassCall(text("call")),),
        pipeline=text("pipeline"),
        exhibit=Exhibit(*sides),
    )
    known = Known(
        path=Path("known"),
        what=text("what"),
        identities=(),
        reports=(("a", "b"),),
        tvm=Claim(("1",)),
        upstream=(text("upstream"),),
    )
    entry = Entry(
        id="0123456789",
        state=EntryState.NEW,
        title=finding.title,
        places=((finding.pass_name, finding.oracle),),
        evidence=(
            EntryFinding(finding, text("why"), file),
            EntryFinding(make(), text("other why"), None),
        ),
        reports=2,
        runs=(1,),
        knowns=(known,),
        verdict=text("verdict"),
        note=text("note"),
    )
    run = Run(
        command=text("command"),
        started=0.0,
        workers=1,
        versions={"tvm": text("tvm"), "python": text("python")},
        passes=(),
        faults=(text("fault"),),
        lacking=(text("lacking"),),
        modules=1,
        checks=1,
        seconds=1.0,
    )
    return Report(
        folder=Path(text("folder").replace("\0", "")),
        tvm="0",
        entries=(entry,),
        runs={1: run},
        unconfirmed=0,
    )


def skeleton(page: Page) -> list[str]:
    """All but what highlights, and what a text that cannot be copied does not get."""
    return [element.tag for element in page.elements if element.tag not in ("span", "button")]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "reproducer.py"


@pytest.fixture(scope="module")
def harmless(make: Callable[..., Finding], file: Path) -> Page:
    """The page where all texts are plain."""
    return Page(html(hostile_report(lambda name: f"{name} .", make, file)))


@settings(
    max_examples=50,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # a page is too dear to be shrunk
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.data())
def test_hostile_texts_make_no_elements(
    make: Callable[..., Finding], file: Path, harmless: Page, data: st.DataObject
) -> None:
    texts: dict[str, str] = {}

    def text(name: str) -> str:
        return texts.setdefault(name, f"{name} {data.draw(hostile, name)}.")

    written = html(hostile_report(text, make, file))
    written.encode()
    page = Page(written)
    assert skeleton(page) == skeleton(harmless)
    allowed = {(each.tag, name) for each in harmless.elements for name in each.attributes}
    for element in page.elements:
        names = {(element.tag, name) for name in element.attributes}
        assert names <= allowed | {("span", "class")}, element
        assert element.attributes.get("href", "#").startswith(("#", "data:", "https://")), element
    (body,) = page.all("body")
    seen = "".join(body.text.split())
    for name in ("title", "note", "detail", "module", "fault"):
        shown = "".join(visible(texts[name]).split())
        assert shown[:20] in seen, name
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", written)

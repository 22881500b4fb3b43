"""The page in a real browser, opened from the disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from relaxfuzz.fuzz.report.data import Report
from relaxfuzz.fuzz.report.html import html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

Open = Callable[..., "Page"]

CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture(scope="module")
def url(report: Report, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html(report), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def open_page(browser: Browser, url: str) -> Iterator[Open]:
    """Opens the page; nothing may go wrong in it, and it may ask for nothing."""
    messages: list[str] = []
    asked: list[str] = []
    contexts = []

    def opened(fragment: str = "", **options: object) -> Page:
        context = browser.new_context(**{"permissions": CLIPBOARD, **options})  # type: ignore[arg-type]  # Chromium's
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url + fragment)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert messages == []
    assert {address.partition("#")[0] for address in asked} == {url}


def titles(page: Page) -> list[str]:
    """The findings that are seen."""
    return page.locator(".entry:visible .title").all_inner_texts()


def test_it_renders(open_page: Open) -> None:
    page = open_page()
    assert page.title() == "relaxfuzz: 1 new, 1 seen before"
    assert len(titles(page)) == 3
    assert page.locator(".group:visible h3").all_inner_texts()[0].startswith("New")
    assert not page.get_by_text("What was compared").is_visible()
    page.locator(".entry").first.locator("summary").click()
    assert page.get_by_text("What was compared").is_visible()
    colour = "element => getComputedStyle(element).color"
    assert page.locator("pre .ins").first.evaluate(colour) != page.locator("pre").first.evaluate(
        colour
    ), "differences are highlighted"
    assert page.locator("svg.plot").first.bounding_box()["width"] > 400  # type: ignore[index]  # it is seen
    line = page.locator("svg.plot path[stroke^=var]").first
    assert line.evaluate("element => getComputedStyle(element).stroke") not in ("none", "")


def test_it_filters(open_page: Open) -> None:
    page = open_page()
    count = page.locator("#count")
    assert count.inner_text() == "3 of 3"
    page.get_by_role("checkbox", name="New").uncheck(force=True)
    assert len(titles(page)) == 2
    assert not page.get_by_role("heading", name=re.compile("^New")).is_visible()
    page.get_by_role("button", name="Clear").click()
    expect(count).to_have_text("3 of 3")
    page.get_by_label("Pass", exact=True).select_option("FuseTIR")
    assert count.inner_text() == "1 of 3"
    page.get_by_label("Oracle", exact=True).select_option("evaluated")
    assert count.inner_text() == "0 of 3"
    assert page.get_by_text("No finding is like that.").is_visible()


def test_it_searches(open_page: Open, url: str) -> None:
    page = open_page()
    for words, left in (
        ("computes", 1),
        ("COMPUTES  values", 1),
        ("result differs at", 1),
        ("r.tensor((2, 3)", 1),
        ("lift-params-undefined", 1),
        ("computes crash", 0),
        ("", 3),
    ):
        page.goto(url)
        page.keyboard.press("/")
        page.keyboard.type(words)
        assert page.locator("#count").inner_text() == f"{left} of 3", words
        assert len(titles(page)) == left, words


def test_the_matrix_filters(open_page: Open) -> None:
    page = open_page()
    number = page.locator("#matrix td button[data-pass=FuseOps][data-oracle=evaluated]")
    assert number.inner_text().endswith("1")
    number.click()
    assert titles(page) == ["computes other values"]
    page.locator("#matrix th button", has_text="LiftTransformParams").click()
    assert len(titles(page)) == 1
    assert page.locator("#matrix thead button").all_inner_texts() == [
        "crash", "well-formed", "evaluated",
    ]  # fmt: skip


def test_it_copies(open_page: Open, report: Report) -> None:
    page = open_page()
    page.locator(".entry").first.locator("summary").click()
    page.get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    path = report.entries[0].evidence[0].reproducer
    assert path is not None
    assert page.evaluate("navigator.clipboard.readText()") == path.read_text()


def test_it_copies_where_there_is_no_clipboard(open_page: Open, report: Report) -> None:
    page = open_page()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    page.locator(".entry").first.locator("summary").click()
    page.get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    path = report.entries[0].evidence[0].reproducer
    assert path is not None
    assert page.evaluate("navigator.clipboard.readText()") == path.read_text()


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_light_and_dark(open_page: Open) -> None:
    light, dark = (open_page(color_scheme=scheme) for scheme in ("light", "dark"))
    colours = background(light), background(dark)
    assert colours[0] != colours[1]
    light.get_by_role("button", name="Show in dark colours").click()
    assert background(light) == colours[1]
    light.reload()
    assert background(light) == colours[1], "the choice is kept"
    light.get_by_role("button", name="Show in light colours").click()
    assert background(light) == colours[0]


def test_tables_sort(open_page: Open) -> None:
    page = open_page()
    rows = page.locator("#passes tbody th")
    page.get_by_role("button", name="Applied").click()
    assert rows.all_inner_texts() == ["MyPass()", "default", "FuseOps"]
    page.get_by_role("button", name="Applied").click()
    assert rows.first.inner_text() == "FuseOps"
    page.get_by_role("button", name="Pass", exact=True).click()
    assert rows.all_inner_texts() == ["default", "FuseOps", "MyPass()"]


def test_a_link_opens_its_finding(open_page: Open, report: Report) -> None:
    entry = report.entries[1]
    page = open_page(f"#f-{entry.id}")
    assert page.locator(f"#f-{entry.id} .body").is_visible()
    page.locator(".entry").first.locator("summary").click()
    expect(page).to_have_url(re.compile(f"#f-{report.entries[0].id}$"))


def test_the_keyboard_reaches_everything(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the findings"
    page.locator(".entry").first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert page.get_by_text("What was compared").is_visible()
    page.locator("#matrix td button").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "search"


def test_it_fits_narrow_windows_and_paper(open_page: Open) -> None:
    page = open_page(viewport={"width": 380, "height": 700})
    for entry in page.locator(".entry").all():
        entry.evaluate("element => { element.open = true; }")
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) <= 380
    page.emulate_media(media="print")
    assert not page.locator("#filter").is_visible()
    assert not page.get_by_role("button", name="Copy").first.is_visible()


def test_without_scripts_all_is_there(browser: Browser, url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    assert len(titles(page)) == 3
    assert not page.locator("#filter").is_visible(), "what would do nothing is not shown"
    page.locator(".entry").first.locator("summary").click()
    assert page.get_by_text("What was compared").is_visible()
    context.close()


def test_it_needs_no_other_file(url: str) -> None:
    assert [path.name for path in Path(url.removeprefix("file://")).parent.iterdir()] == [
        "report.html"
    ]

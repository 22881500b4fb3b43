"""The page in a real browser, opened from the disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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


def test_without_scripts_all_is_there(browser: Browser, url: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    assert len(titles(page)) == 3
    assert not page.locator("#filter").is_visible(), "what would do nothing is not shown"
    page.locator(".entry").first.locator("summary").click()
    assert page.get_by_text("What was compared").is_visible()
    context.close()

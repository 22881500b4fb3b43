"""The places and quotes in the records exist in the release that the records are of."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tvm

from relaxfuzz.corpus.knowns import Known, knowns

TVM = Path(tvm.__file__).parent
PLACE = re.compile(r"(?<![\w./])(?:src|python)/[\w./]+\.(?:cc|h|py)\b")
QUOTE = re.compile(r"(?<!\w)'((?:[^']|(?<=\w)'(?=\w))+)'")
MARKUP = re.compile(r"[\s`*/\"#\\]+")
"""Quotes leave out markup and line breaks."""

pytestmark = pytest.mark.skipif(
    tvm.__version__ not in knowns()[0].tvm.fails_on[-1],
    reason="the records name places of the release that they were renewed on",
)


@pytest.fixture(scope="module")
def named_by_library() -> set[str]:
    """The C++ files whose paths the libraries hold, as files with checks do."""
    found: set[str] = set()
    for path in (TVM / "lib").glob("*.so"):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            found.update(each.decode() for each in re.findall(rb"src/[\w./]+\.(?:cc|h)\b", text))
    return found


@pytest.fixture(scope="module")
def documentation() -> str:
    """The text of all Python files, without markup."""
    return plain("\n".join(path.read_text() for path in TVM.rglob("*.py")))


def plain(text: str) -> str:
    return MARKUP.sub(" ", text).strip().lower()


def sentences(bug: Known) -> Iterator[str]:
    yield from (*bug.promise, *bug.symptoms)
    yield from filter(None, (bug.note, bug.source, bug.root_cause))


def test_places(named_by_library: set[str]) -> None:
    """A C++ file without checks leaves no trace in a library; the folder of such a file must."""
    folders = {path.rpartition("/")[0] for path in named_by_library}

    def exists(place: str) -> bool:
        if place.startswith("python/"):
            return (TVM / place.removeprefix("python/tvm/")).is_file()
        return place in named_by_library or place.rpartition("/")[0] in folders

    assert not exists("src/arith/analyzer.cc")
    assert exists("src/sym/analyzer.cc")
    absent = [
        (bug.name, place)
        for bug in knowns()
        for sentence in sentences(bug)
        for place in PLACE.findall(sentence)
        if not exists(place)
    ]
    assert not absent


def test_quotes_of_docstrings(documentation: str) -> None:
    assert plain("docstring of a pass that nobody wrote") not in documentation
    absent = [
        (bug.name, quote)
        for bug in knowns()
        for promise in bug.promise
        if promise.startswith("docstring of ")
        for quote in QUOTE.findall(promise)
        if not all(plain(part) in documentation for part in quote.split("..."))
    ]
    assert not absent

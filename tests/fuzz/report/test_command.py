"""`relaxfuzz report`: files, and user_errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from relaxfuzz.fuzz.cli.report import run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.system.errors import UserError


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Path:
    return Path(shutil.copytree(store.folder, tmp_path / "out"))


def test_a_page_in_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, {}) == 0
    page = folder / "report.html"
    assert capsys.readouterr().out == f"html: {page}\n"
    assert "computes other values" in page.read_text()
    with Store(folder):  # the page does no harm to the store
        pass


def test_forms_that_are_named(folder: Path, tmp_path: Path) -> None:
    files = {form: tmp_path / form for form in ("html", "jsonl", "markdown")}
    assert run(folder, files) == 0
    for path in files.values():
        assert "computes other values" in path.read_text(), path.name
    assert not (folder / "report.html").exists()


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no findings in '.*': it has no findings\.sqlite"):
        run(tmp_path, {})
    (tmp_path / "findings.sqlite").write_text("something else" * 100)
    with pytest.raises(UserError, match="cannot use"):
        run(tmp_path, {})

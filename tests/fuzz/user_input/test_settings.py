"""Settings: one record each, the options and files that are made of it, and mistakes in files."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main

from bench.pages import part
from bench.settings import BEGIN, END, PAGE, table
from relaxfuzz import Checker
from relaxfuzz.fuzz.cli import app
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input.settings import (
    BUDGET,
    CHECKER,
    NIGHTLY,
    PYTEST,
    SETTINGS,
    Relaxations,
    Reports,
    Settings,
    all_within,
    merged,
    taken_by,
)
from relaxfuzz.fuzz.user_input.settings_file import load, read

COMMANDS = {taker for each in SETTINGS.values() for taker in each.takers} - {PYTEST, CHECKER}


def parsed(text: str, taker: str = NIGHTLY) -> Settings:
    return read(tomllib.loads(text), taker, "CONFIG.toml")


# The records


def parameters(command: str) -> dict[str, list[str]]:
    """The options of a command, by parameter."""
    found: Any = typer.main.get_command(app)
    for word in command.split():
        found = found.commands[word]
    return {each.name: [*each.opts, *each.secondary_opts] for each in found.params}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_command_has_an_option_for_each_setting_that_it_takes(command: str) -> None:
    there = parameters(command)
    for setting in taken_by(command):
        spelled = setting.option_of(command)
        assert spelled in there[setting.name] or not spelled
        assert setting.short is None or setting.short in there[setting.name]


def test_a_setting_has_one_spelling_wherever_it_is_an_option() -> None:
    for setting in SETTINGS.values():
        options = {setting.option_of(each).removeprefix("--relaxfuzz") for each in setting.takers}
        assert len({each.lstrip("-") for each in options} - {""}) <= 1


def test_the_checker_has_the_same_defaults() -> None:
    arguments = inspect.signature(Checker).parameters
    for setting in SETTINGS.values():
        if CHECKER in setting.takers:
            assert arguments[setting.name].default == setting.default


def test_the_page_shows_the_records() -> None:
    assert part(PAGE, BEGIN, END).strip() == table(), "make settings"


# Values


def test_all_kinds_are_read() -> None:
    text = """
    budget = "8h"
    seed-share = 1
    modules = 3
    out = "a/b"
    passes = ["FuseOps", "my_pkg.passes:MyPass"]
    known = ["bugs"]
    fail-on = "A"
    until-first = true
    report = {html = "page.html"}
    [promises."my_pkg.passes:MyPass"]
    exempt = ["idempotent"]
    """
    assert parsed(text) == Settings(
        budget="8h",
        seed_share=1.0,
        modules=3,
        out=Path("a/b"),
        passes=("FuseOps", "my_pkg.passes:MyPass"),  # type: ignore[arg-type]  # as in a file
        known=(Path("bugs"),),
        fail_on="A",  # type: ignore[arg-type]  # as in a file
        until_first=True,
        report=Reports(html=Path("page.html")),
        promises={"my_pkg.passes:MyPass": Relaxations(exempt=("idempotent",))},
    )


def test_the_budget_is_a_time_or_a_number_of_modules() -> None:
    assert Settings().seconds() == 60.0 == Settings(budget=BUDGET).seconds()
    assert Settings(modules=5).seconds() is None
    assert Settings(modules=5, budget="9s").seconds() == 9.0


def test_modules_on_the_command_line_replace_the_budget_of_the_file() -> None:
    file = Settings(budget="8h", scheduler="tcp://a:1")
    assert merged(file, {"modules": 5}) == Settings(modules=5, scheduler="tcp://a:1")
    assert merged(file, {"modules": 5, "budget": "1m"}).budget == "1m"


def test_paths_begin_at_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
    passes = ["my.py:make", "FuseOps", "pkg.passes:make"]
    seeds = ["model.onnx", "pkg.models:make"]
    report = {html = "page.html"}
    promises."my.py:make".like = "FuseOps"
    """
    moved = all_within(parsed(text), tmp_path / "sub")
    assert moved.passes == ("sub/my.py:make", "FuseOps", "pkg.passes:make")
    assert moved.seeds == (str(tmp_path / "sub" / "model.onnx"), "pkg.models:make")
    assert moved.report == Reports(html=tmp_path / "sub" / "page.html")
    assert list(moved.promises) == ["sub/my.py:make"]


# Mistakes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budgte = '1h'", "CONFIG.toml: no setting 'budgte'. Did you mean 'budget'"),
        ("zzzz = 1", "CONFIG.toml: no setting 'zzzz'. Known: passes, budget, modules, "),
        ("until_first = true", "no setting 'until_first'. Did you mean 'until-first'?"),
        ("json = true", "CONFIG.toml: no setting 'json'"),
        ("semantics = true", "CONFIG.toml: no setting 'semantics'"),
        ("budget = 1", "CONFIG.toml: expected budget to be a string but got 1"),
        ("budget = true", "expected budget to be a string but got True"),
        ('seed-share = "60s"', "expected seed-share to be a number but got '60s'"),
        ("seed-share = true", "expected seed-share to be a number but got True"),
        ("seed-share = 1.5", "expected seed-share to be 0 to 1 but got 1.5"),
        ("seed-share = nan", "expected seed-share to be 0 to 1 but got nan"),
        ("modules = 2.5", "expected modules to be a whole number but got 2.5"),
        ("modules = true", "expected modules to be a whole number but got True"),
        ("modules = 0", "CONFIG.toml: expected modules to be 1 or more but got 0"),
        ("seed = -1", "CONFIG.toml: expected seed to be 0 or more but got -1"),
        ("out = 3", "expected out to be a string but got 3"),
        ('out = "a\\u0000b"', "expected out to be a path but got 'a\\x00b'"),
        ("seed = 1979-05-27T07:32:00Z", "expected seed to be a whole number but got '1979"),
        ('passes = "FuseOps"', "expected passes to be a list but got 'FuseOps'"),
        ('passes = ["a", 2]', "expected passes[1] to be a string but got 2"),
        ('fail-on = "D"', "CONFIG.toml: no fail-on 'D'. Known: A, B, C, wrong values, memory, "),
        ('fail-on = "A, wrong vales"', "no fail-on 'wrong vales'. Did you mean 'wrong values'?"),
        ("fail-on = 1", "CONFIG.toml: expected fail-on to be a string but got 1"),
        ("report = 1", "expected report to be a table but got 1"),
        ('[report]\nhtm = "x"', "CONFIG.toml, report: no setting 'htm'. Did you mean 'html'?"),
        ("[report]\nhtml = 1", "expected report.html to be a string but got 1"),
        ("promises = 1", "expected promises to be a table but got 1"),
        ('promises."a.b:C" = 1', "expected promises.a.b:C to be a table but got 1"),
        (
            '[promises."a.b:C"]\nexmpt = []',
            "CONFIG.toml, promises.a.b:C: no setting 'exmpt'. Did you mean 'exempt'?",
        ),
        (
            '[promises."a.b:C"]\nexempt = [1]',
            "CONFIG.toml: expected promises.a.b:C.exempt[0] to be a string but got 1",
        ),
    ],
)
def test_a_mistake_names_its_place_and_what_would_do(text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        parsed(text)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def in_pyproject(folder: Path, text: str) -> Settings:
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, PYTEST, "tool", "relaxfuzz")


def test_the_table_of_pyproject(tmp_path: Path) -> None:
    text = """
    [tool.relaxfuzz]
    passes = ["FuseOps"]
    budget = "2m"
    corpus = ["tests/corpus"]
    [tool.relaxfuzz.promises."my_pkg.passes:MyPass"]
    like = "FuseOps"
    exempt = ["idempotent"]
    """
    found = in_pyproject(tmp_path, text)
    assert (found.passes, found.seconds()) == (("FuseOps",), 120.0)
    assert found.corpus == (Path("tests/corpus"),)
    assert found.out == Path("relaxfuzz-out")
    own = Relaxations(like="FuseOps", exempt=("idempotent",))
    assert found.promises == {"my_pkg.passes:MyPass": own}


PROMISES = '[tool.relaxfuzz.promises."a:B"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.relaxfuzz]\npases = []", "[tool.relaxfuzz]: no setting 'pases'. Did you mean"),
        ("[tool.relaxfuzz]\npasses = 'a'", "expected passes to be a list but got 'a'"),
        ("[tool]\nrelaxfuzz = 1", "expected [tool.relaxfuzz] to be a table but got 1"),
        ("[tool.relaxfuzz]\npromises = [1]", "expected promises to be a table but got [1]"),
        ("[tool.relaxfuzz]\npromises = {a = 1}", "expected promises.a to be a table but got 1"),
        (f"{PROMISES}exmpt = []", "promises.a:B: no setting 'exmpt'. Did you mean 'exempt'?"),
        ("[tool.relaxfuzz", "pyproject.toml: "),
    ],
)
def test_a_mistake_in_pyproject(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        in_pyproject(tmp_path, text)
    assert message in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path / "pyproject.toml"))

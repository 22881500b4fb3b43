"""The settings of a night: the example, precedence, and messages for mistakes."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest

from relaxfuzz.fuzz.nightly.config import (
    EXAMPLE,
    Nightly,
    Plan,
    Reports,
    load,
    plan,
    within,
)
from relaxfuzz.fuzz.user_input.errors import UserError
from relaxfuzz.fuzz.user_input.options import Relaxations

USER = Path(__file__).parents[1] / "user_passes.py"


def planned(text: str, folder: Path, **options: object) -> Plan:
    path = folder / "night.toml"
    path.write_text(text)
    return plan(load(path), options, path.name)


def keys(kind: type) -> set[str]:
    return {field.name.replace("_", "-") for field in dataclasses.fields(kind)}


# The example


def test_the_example_shows_every_setting_with_its_default() -> None:
    assert load(EXAMPLE) == Nightly()
    text = EXAMPLE.read_text()
    commented = "\n".join(re.findall(r"^#   (.*)$", text, re.MULTILINE))
    shown = tomllib.loads(commented)
    assert tomllib.loads(text).keys() | shown.keys() == keys(Nightly)
    assert shown["report"].keys() == keys(Reports)
    (promised,) = shown["promises"].values()
    assert promised.keys() == keys(Relaxations)


def test_what_the_example_shows_in_comments_can_be_asked(tmp_path: Path) -> None:
    commented = "\n".join(re.findall(r"^#   (.*)$", EXAMPLE.read_text(), re.MULTILINE))
    path = tmp_path / "night.toml"
    path.write_text(commented)
    settings = load(path)
    assert settings.bisect == ("0.26.0", "0.27.0.post1")
    assert settings.report is not None
    assert settings.report.junit == Path("relaxfuzz-out/junit.xml")
    assert settings.promises[settings.passes[2]].like == "FuseOps"


# What wins


def test_the_default_is_an_hour_of_all_passes(tmp_path: Path) -> None:
    made = planned("", tmp_path)
    assert (made.seconds, made.settings.modules) == (3600, None)
    assert len(made.targets) > 60


def test_options_win_over_the_file(tmp_path: Path) -> None:
    text = 'budget = "8h"\nseed = 1\npasses = ["FuseOps"]'
    made = planned(text, tmp_path, budget="10m", seed=3, until_first=True, out=Path("elsewhere"))
    assert made.seconds == 600
    assert (made.settings.seed, made.settings.until_first) == (3, True)
    assert made.settings.out == Path("elsewhere")


def test_a_number_of_modules_as_an_option_is_the_whole_budget(tmp_path: Path) -> None:
    assert planned('budget = "8h"', tmp_path, modules=5).seconds is None
    assert planned('modules = 5\nbudget = "8h"', tmp_path).seconds == 8 * 3600
    assert planned("modules = 5", tmp_path).seconds is None


def test_paths_begin_at_the_folder_of_the_file() -> None:
    moved = within(
        Nightly(corpus=(Path("a"), Path("/b")), report=Reports(html=Path("c"))), Path("/f")
    )
    assert moved.out == Path("/f/relaxfuzz-out")
    assert moved.corpus == (Path("/f/a"), Path("/b"))
    assert moved.report == Reports(html=Path("/f/c"))


def test_promises_reach_the_pass(tmp_path: Path) -> None:
    spelling = f"{USER}:marks"
    text = (
        f'passes = ["{spelling}"]\n[promises."{spelling}"]\n'
        'exempt = ["idempotent"]\nstages = ["raw"]'
    )
    (target,) = planned(text, tmp_path).targets
    assert target.exempt == ("idempotent",)
    assert target.stages == ("raw",)


# Mistakes

PROMISED_FOR_TVM = "passes = ['FuseOps']\n[promises.FuseOps]\nlike = 'FuseTIR'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budgte = '1h'", "night.toml: no setting 'budgte'. Did you mean 'budget'"),
        ("budget = 60", "night.toml: expected budget to be a string but got 60"),
        ("budget = 'soon'", "night.toml: expected a budget such as 60s, 5m or 1h but got budget ="),
        ("budget = ''", "budget = ''"),
        ("bisect-budget = 'soon'", "5m or 1h but got bisect-budget = 'soon'"),
        ("modules = 0", "night.toml: expected modules to be 1 or more but got 0"),
        ("seed = -1", "night.toml: expected seed to be 0 or more but got -1"),
        ("workers = true", "expected workers to be a whole number but got True"),
        ("passes = 'FuseOps'", "night.toml: expected passes to be a list but got 'FuseOps'"),
        ("passes = ['FuseOp']", "night.toml, passes: "),
        ("passes = ['FuseOp']", "'FuseOps'"),
        ("passes = ['nowhere.py:make']", "nowhere.py"),
        ("oracles = ['idempotency']", "night.toml, oracles: no oracle 'idempotency'. Did you mean"),
        ("corpus = ['gone']", "night.toml, corpus: nothing is at 'gone'"),
        ("known = ['gone']", "night.toml, known: expected a folder of knowns but got 'gone'"),
        ("bisect = ['newest']", "but got bisect = 'newest'"),
        ("max-disk = '1 cup'", "a size such as 500MB or 1GB but got max-disk = '1 cup'"),
        ("[report]\nhtm = 'x'", "night.toml, report: no setting 'htm'. Did you mean 'html'"),
        ("[promises.FuseOps]", "night.toml, promises: 'FuseOps' is none of the passes []"),
        (PROMISED_FOR_TVM, "night.toml, passes: promises of 'FuseOps'"),
        ("[promises.x]\nlikes = 'FuseOps'", "no setting 'likes'. Did you mean 'like'"),
        ("out = ", "night.toml: "),
    ],
)  # fmt: skip
def test_a_mistake_names_its_place_and_what_would_do(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "night.toml").write_text(text)
    with pytest.raises(UserError) as caught:
        plan(load(Path("night.toml")), {}, "night.toml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mistake_on_the_command_line_is_none_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^expected a budget .* but got --budget 'soon'$"):
        planned("", tmp_path, budget="soon")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read '.*gone\.toml': No such file"):
        load(tmp_path / "gone.toml")
    with pytest.raises(UserError, match="cannot read"):
        load(tmp_path)

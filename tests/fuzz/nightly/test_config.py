"""The settings of a night: precedence, and messages for mistakes."""

from __future__ import annotations

from pathlib import Path

from relaxfuzz.fuzz.nightly.config import NightlyPlan, plan
from relaxfuzz.fuzz.session.chosen import campaign_of
from relaxfuzz.fuzz.user_input.settings import NIGHT, NIGHTLY
from relaxfuzz.fuzz.user_input.settings_file import load

USER = Path(__file__).parents[1] / "user_passes.py"


def planned(text: str, folder: Path, **options: object) -> NightlyPlan:
    path = folder / "night.toml"
    path.write_text(text)
    return plan(load(path, NIGHTLY), options)


def seconds(plan: NightlyPlan) -> float | None:
    return plan.settings.seconds(NIGHT)


# What wins


def test_the_default_is_an_hour_of_all_passes(tmp_path: Path) -> None:
    made = planned("", tmp_path)
    assert (seconds(made), made.settings.modules) == (3600, None)
    assert len(made.targets) > 60


def test_options_win_over_the_file(tmp_path: Path) -> None:
    text = 'budget = "8h"\nseed = 1\npasses = ["FuseOps"]'
    made = planned(text, tmp_path, budget="10m", seed=3, until_first=True, out=Path("elsewhere"))
    assert seconds(made) == 600
    assert (made.settings.seed, made.settings.until_first) == (3, True)
    assert made.settings.out == Path("elsewhere")


def test_promises_reach_the_pass(tmp_path: Path) -> None:
    spelling = f"{USER}:marks"
    text = (
        f'passes = ["{spelling}"]\n[promises."{spelling}"]\n'
        'exempt = ["idempotent"]\nstages = ["raw"]'
    )
    (target,) = planned(text, tmp_path).targets
    assert target.exempt == ("idempotent",)
    assert target.stages == ("raw",)


def test_a_family_and_options_reach_the_campaign(tmp_path: Path) -> None:
    made = planned("config = ['opt_level=1']\nmodules = 1", tmp_path, family="tensorir")
    assert {each.name for each in made.targets} >= {"tirx.StmtSimplify", "s_tir.LoopPartition"}
    assert campaign_of(made.settings, made.targets).config == {"opt_level": 1}

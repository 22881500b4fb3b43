"""The options that change how passes run: of the PassContext, the target, the time, the output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm
from tvm import te

from relaxfuzz.compat import availability
from relaxfuzz.compat.availability import Availability
from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.loading.targets import options_of, targets_of
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.session.checking import check_module
from relaxfuzz.fuzz.session.chosen import (
    SURVEY_SECONDS,
    campaign_of,
    environment_of,
    skip_survey,
    timeout_of,
)
from relaxfuzz.fuzz.session.fuzzing import Fuzzing
from relaxfuzz.fuzz.session.session import session
from relaxfuzz.fuzz.system.errors import UserError
from relaxfuzz.fuzz.user_input.settings import Settings, Spelling
from relaxfuzz.oracles.passcall import target_of

USER = Path(__file__).parents[1] / "user_passes.py"

Given = Callable[..., Settings]


@pytest.mark.parametrize(
    ("more", "assumed"),
    [
        ({"budget": f"{SURVEY_SECONDS - 1:.0f}s"}, True),
        ({"budget": f"{SURVEY_SECONDS:.0f}s"}, False),
        ({}, False),
        ({"modules": 3}, False),
    ],
)
def test_only_a_command_with_time_tries_what_works(
    more: dict[str, str | int], assumed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "_current", None)
    monkeypatch.delenv(availability.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tried = Availability(build="tried")
    monkeypatch.setattr(availability, "find_out", lambda: tried)
    skip_survey(Settings(**more))  # type: ignore[arg-type]
    assert availability.current() == (Availability() if assumed else tried)


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """The settings for one pass of `user_passes`."""

    def given(name: str, **more: object) -> Settings:
        passes = (Spelling(f"{USER}:{name}"),)
        more = {"shipped_knowns": False, "workers": 1, "budget": "10m", **more}
        return Settings(passes=passes, out=tmp_path / "out", **more)  # type: ignore[arg-type]

    return given


@pytest.fixture
def module(tmp_path: Path, sums: str) -> Path:
    path = tmp_path / "sums.json"
    path.write_text(sums)
    return path


def found(given: Settings) -> dict[str, str]:
    """The titles of the findings, confirmed or not, by oracle."""
    with Store(given.out, create=False) as store:
        return {each.oracle: each.title for each in (*store.findings(), *store.pending())}


# Options of the PassContext, and the target


def test_options_are_literals_or_text() -> None:
    config = ("relax.FuseOps.max_depth=4", "tirx.disable_vectorize = true", "opt_level=2")
    assert options_of(Settings(config=config, target="cuda")) == {
        "target": "cuda",
        "relax.FuseOps.max_depth": 4,
        "tirx.disable_vectorize": True,
        "opt_level": 2,
    }


def test_a_target_may_have_attributes() -> None:
    text = '{"kind": "llvm", "mcpu": "skylake"}'
    assert target_of(options_of(Settings(target=text))).attrs["mcpu"] == "skylake"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(config=("relax.FuseOps.max_depth",)), "expected --config KEY=VALUE but got"),
        (Settings(config=("relax.FuseOps.max_deep=1",)), "Did you mean 'relax.FuseOps.max_depth'"),
        (Settings(config=("relax.FuseOps.max_depth=deep",)), "TVM refuses relax.FuseOps.max_depth"),
        (Settings(target="cudda"), "TVM refuses target = 'cudda'"),
    ],
)
def test_options_that_tvm_does_not_take(settings: Settings, message: str) -> None:
    with pytest.raises(UserError, match=r"^[^\n]*$") as raised:
        options_of(settings)
    assert message in str(raised.value)


OPTIONS = {"config": ("relax.FuseOps.max_depth=4",), "target": "cuda"}


def test_a_check_runs_passes_under_them(pool: LocalPool, module: Path, given: Given) -> None:
    plain = given("tells_context")
    check_module(module, plain, pool=pool)
    assert found(plain) == {}
    under = given("tells_context", **OPTIONS)
    assert check_module(module, under, pool=pool) == 1
    assert "runs under depth 4 for cuda" in found(under)["crash"]
    (reproducer,) = (under.out / "reproducers").glob("tells_context-crash-*.py")
    text = reproducer.read_text()
    assert "config={'relax.FuseOps.max_depth': 4}" in text
    assert "tvm.target.Target('cuda', host=\"llvm\")" in text


def test_a_campaign_runs_passes_under_them(pool: LocalPool, given: Given) -> None:
    under = given("tells_context", **OPTIONS, modules=2, seed=1, budget=None)
    config = campaign_of(under, targets_of(under))
    with session(under, pool=pool) as made:
        Fuzzing(config, made, command="test").run()
    assert "runs under depth 4 for cuda" in found(under)["crash"]


def test_the_printed_form_of_a_call_is_a_spelling(
    pool: LocalPool, module: Path, given: Given
) -> None:
    under = given("tells_context with {'relax.FuseOps.max_depth': 4}")
    assert check_module(module, under, pool=pool) == 1
    assert "runs under depth 4 for llvm" in found(under)["crash"]


# Time and output


@pytest.mark.session
def test_a_step_may_take_as_long_as_the_user_says(
    pool: LocalPool, module: Path, given: Given
) -> None:
    long = given("takes_its_time", timeout="20s", oracles=("crash",))
    assert timeout_of(long) == 20
    check_module(module, long, pool=pool)
    assert found(long) == {}
    short = given("takes_its_time", timeout="0.5s", oracles=("crash",), budget="10s")
    check_module(module, short, pool=pool)
    assert set(found(short)) == {"hang"}


@pytest.mark.session
def test_output_of_passes_is_shown_on_demand(
    module: Path, given: Given, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = given("prints", show_output=True, oracles=("crash",))
    with LocalPool(1, environment=environment_of(settings)) as pool:
        check_module(module, settings, pool=pool)
    lines = set(capfd.readouterr().err.splitlines())
    printed = {"printed by Python", "printed to stderr", "printed by C"}
    assert printed <= lines


def test_a_cluster_does_not_show_output() -> None:
    with pytest.raises(UserError, match="not on a cluster"):
        environment_of(Settings(show_output=True, scheduler="tcp://10.0.0.7:8786"))


# Families


def test_a_check_asks_the_passes_of_one_family(pool: LocalPool, module: Path, given: Given) -> None:
    every = Settings(out=given("").out, family="tensorir")
    with pytest.raises(UserError, match="--family tensorir: the module has only functions of rel"):
        check_module(module, every, pool=pool)
    with pytest.raises(UserError, match=r"no family 'tensori'. Did you mean 'tensorir'"):
        check_module(module, Settings(family="tensori"), pool=pool)


@pytest.mark.parametrize(
    ("family", "stages"),
    [(None, ["tensorir", "kernels"]), ("dlight", ["kernels"])],
)
def test_a_module_of_prim_funcs_is_at_home_in_two_families(
    family: str | None,
    stages: list[str],
    pool: LocalPool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    a = te.placeholder((4,), name="A")
    func = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, name="B")])
    path = tmp_path / "kernel.json"
    path.write_text(save_json(tvm.IRModule({"kernel": func.with_attr("global_symbol", "kernel")})))
    no_time = Settings(out=tmp_path / "out", family=family, json=True, budget="0.000001s")
    assert check_module(path, no_time, pool=pool) == 4
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["stages"] for each in events if each["event"] == "stages"] == [stages]

"""What can be asked of the plugin, and the user_errors in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from relaxfuzz.fuzz.pytest_plugin.options import settings
from relaxfuzz.fuzz.pytest_plugin.plan import PLAN, SessionPlan
from relaxfuzz.fuzz.user_input.settings import Relaxations, Settings

pytest_plugins = ["pytester"]

Read = Callable[..., Settings]


@pytest.fixture
def read(pytester: pytest.Pytester) -> Read:
    """The settings of a repository with this `[tool.relaxfuzz]`, and of this command line."""

    def read(table: str, *arguments: str) -> Settings:
        pytester.makepyprojecttoml(f"[tool.relaxfuzz]\n{table}")
        return settings(pytester.parseconfig(*arguments))

    return read


def test_the_command_line_overrides_pyproject(read: Read, pytester: pytest.Pytester) -> None:
    table = 'passes = ["FuseOps"]\nbudget = "5m"\nseed = 3\nout = "found"\nknown = ["bugs"]'
    plain = read(table)
    assert (plain.passes, plain.seconds(), plain.seed) == (("FuseOps",), 300.0, 3)
    assert (plain.out, plain.known) == (pytester.path / "found", (pytester.path / "bugs",))
    better = read(table, "--relaxfuzz=CSE", "--relaxfuzz-budget=10s", "--relaxfuzz-seed=0")
    assert (better.passes, better.seconds(), better.seed) == (("CSE",), 10.0, 0)


def test_each_setting_of_the_plugin_is_an_option(read: Read) -> None:
    found = read(
        "",
        *("--relaxfuzz=CSE", "--relaxfuzz=FuseOps", "--relaxfuzz-oracle=crash"),
        *("--relaxfuzz-family=tensorir", "--relaxfuzz-no-known", "--relaxfuzz-seed-share=0.9"),
        *("--relaxfuzz-stage=raw", "--relaxfuzz-config=opt_level=1", "--relaxfuzz-show-output"),
    )
    assert (found.passes, found.oracles, found.family) == (
        ("CSE", "FuseOps"),
        ("crash",),
        "tensorir",
    )
    assert (found.shipped_knowns, found.seed_share, found.stages) == (False, 0.9, ("raw",))
    assert (found.config, found.show_output) == (("opt_level=1",), True)


def test_the_grade_that_fails_is_that_of_the_command_line_or_the_file(read: Read) -> None:
    assert read("").fail_on is None
    assert read('fail-on = "A"').fail_on == "A"
    assert read('fail-on = "A"', "--relaxfuzz-fail-on=C").fail_on == "C"
    with pytest.raises(pytest.UsageError, match="no fail-on 'D'"):
        read('fail-on = "D"')
    with pytest.raises(pytest.UsageError, match=r"no --relaxfuzz-fail-on .memroy.\. Did you"):
        read("", "--relaxfuzz-fail-on=A,memroy")


def test_who_names_a_test_does_not_wait_for_the_passes_of_pyproject(
    read: Read, pytester: pytest.Pytester
) -> None:
    table = 'passes = ["FuseOps"]'
    test = pytester.makepyfile(test_one="def test_one(): pass")
    assert read(table, str(pytester.path)).passes == ("FuseOps",)
    assert read(table, str(test)).passes == ()
    assert read(table, f"{test}::test_one").passes == ()
    assert read(table, str(test), "--relaxfuzz=CSE").passes == ("CSE",)


def test_a_file_is_named_from_where_pyproject_is(
    read: Read, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pytester.mkdir("tests")
    monkeypatch.chdir(folder)
    table = 'passes = ["my/passes.py:make"]\n[tool.relaxfuzz.promises."my/passes.py:make"]\n'
    found = read(f'{table}stages = ["raw"]')
    assert found.passes == ("../my/passes.py:make",)
    assert found.promises == {"../my/passes.py:make": Relaxations(stages=("raw",))}


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        ("pass = 'FuseOps'", (), r"\[tool.relaxfuzz\]: no setting 'pass'. Did you mean 'passes'"),
        ("passes = 'FuseOps'", (), "expected passes to be a list but got 'FuseOps'"),
        ("budget = 60", (), "expected budget to be a string but got 60"),
        ("promises = 1", (), "expected promises to be a table but got 1"),
        ("seed = ", (), "pyproject.toml"),
        ("", ("--relaxfuzz-budget=3x",), "but got --relaxfuzz-budget '3x'"),
        ("", ("--relaxfuzz-modules=0",), "expected --relaxfuzz-modules to be 1 or more but got 0"),
        ("", ("--relaxfuzz-seed=-1",), "expected --relaxfuzz-seed to be 0 or more but got -1"),
    ],
)
def test_a_mistake_is_reported_with_its_place(
    read: Read, table: str, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(pytest.UsageError, match=message):
        read(table, *arguments)


def test_the_plan_counts_the_workers_and_travels_to_them(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfigure("--relaxfuzz=FuseOps", "--tx=2*popen", "--dist=load")
    plan = config.stash[PLAN]
    assert plan.workers == 2
    assert SessionPlan(**dataclasses.asdict(plan)) == plan


def test_an_older_pytest_is_refused(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(pytest, "Subtests")
    pytester.parseconfigure()
    with pytest.raises(pytest.UsageError, match="expected pytest 9 or newer"):
        pytester.parseconfigure("--relaxfuzz=FuseOps")

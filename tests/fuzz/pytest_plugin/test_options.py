"""What can be asked of the plugin, and the user_errors in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from relaxfuzz.fuzz.pytest_plugin.options import Settings, settings
from relaxfuzz.fuzz.pytest_plugin.plan import PLAN, Plan
from relaxfuzz.fuzz.pytest_plugin.session import prepare
from relaxfuzz.fuzz.user_input.options import Relaxations
from relaxfuzz.oracles.grades.grade import Grade

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
    assert (plain.passes, plain.seconds, plain.seed) == (("FuseOps",), 300.0, 3)
    assert (plain.out, plain.known) == (pytester.path / "found", (pytester.path / "bugs",))
    better = read(table, "--relaxfuzz=CSE", "--relaxfuzz-budget=10s", "--relaxfuzz-seed=0")
    assert (better.passes, better.seconds, better.seed) == (("CSE",), 10.0, 0)


def test_a_number_of_modules_is_a_budget(read: Read) -> None:
    assert read("").seconds == 60.0
    assert read("", "--relaxfuzz-modules=5").seconds is None
    assert read("", "--relaxfuzz-modules=5", "--relaxfuzz-budget=9s").seconds == 9.0


def test_what_fails_is_of_grade_b_unless_said_otherwise(read: Read) -> None:
    assert read("").fail_on is Grade.B
    assert read('fail-on = "A"').fail_on is Grade.A
    assert read('fail-on = "A"', "--relaxfuzz-fail-on=C").fail_on is Grade.C
    with pytest.raises(pytest.UsageError, match="no fail-on 'D'"):
        read('fail-on = "D"')


def test_a_session_without_a_seed_draws_one(read: Read) -> None:
    assert read("").seed != read("").seed


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


def test_a_name_that_is_no_pass_is_reported_before_anything_runs(pytester: pytest.Pytester) -> None:
    config = pytester.parseconfigure("--relaxfuzz=FuseOp")
    with pytest.raises(pytest.UsageError, match=r"No pass 'FuseOp' .* Did you mean 'FuseOps'"):
        prepare(config)
    assert not (pytester.path / "relaxfuzz-out").exists()


@pytest.mark.parametrize(
    ("dist", "shards"), [("load", 2), ("worksteal", 2), ("loadfile", 1), ("loadscope", 1)]
)
def test_there_are_as_many_shards_as_workers_that_share_them(
    pytester: pytest.Pytester, dist: str, shards: int
) -> None:
    config = pytester.parseconfigure("--relaxfuzz=FuseOps", "--tx=2*popen", f"--dist={dist}")
    plan = config.stash[PLAN]
    assert (plan.workers, plan.shards) == (2, shards)
    assert Plan(**dataclasses.asdict(plan)) == plan


def test_an_older_pytest_is_refused(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(pytest, "Subtests")
    pytester.parseconfigure()
    with pytest.raises(pytest.UsageError, match="expected pytest 9 or newer"):
        pytester.parseconfigure("--relaxfuzz=FuseOps")

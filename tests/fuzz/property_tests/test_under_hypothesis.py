"""`check_pass` in tests of Hypothesis: shrinking, several bugs, replaying, time, what is shown."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
import tvm
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from tvm import relax

from relaxfuzz import PassViolation, check_pass, ir_modules
from relaxfuzz.fuzz.property_tests.under_hypothesis import fail
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.inspect import ops_used
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.violation import Raised, Violation

QUICK = settings(
    database=None,
    deadline=None,
    phases=set(Phase) - {Phase.explain},
    suppress_health_check=list(HealthCheck),
)
"""Explaining traces every line."""

MODULES = ir_modules(
    ops=["exp", "sin", "negative"],
    without=list(Trait),
    max_functions=1,
    max_bindings=4,
)


SEED = 4
"""With it both bugs are met before Hypothesis begins to shrink."""


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made_pass(body: Callable[[tvm.IRModule], tvm.IRModule], name: str) -> tvm.transform.Pass:
    return tvm.transform.module_pass(lambda mod, context: body(mod), opt_level=0, name=name)


def fails_on_two(mod: tvm.IRModule) -> tvm.IRModule:
    used = ops_used(mod)
    if "relax.exp" in used:
        raise KeyError("exp")
    if "relax.sin" in used:
        raise ValueError("sin")
    return mod


def two_bugs() -> tvm.transform.Pass:
    """In no module, so that no other process can have it."""
    return made_pass(fails_on_two, "TwoBugs")


def shown(error: BaseException) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> tuple[BaseExceptionGroup[Exception], Path]:
    """The output of Hypothesis for a pass with two bugs."""
    folder = tmp_path_factory.mktemp("group")

    @settings(QUICK, print_blob=True)
    @seed(SEED)
    @given(MODULES)
    def test(mod: tvm.IRModule) -> None:
        check_pass(two_bugs(), mod)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with pytest.raises(BaseExceptionGroup) as raised:
            test()
    return raised.value, folder


def test_bugs_are_distinguished_and_each_is_shrunk(
    group: tuple[BaseExceptionGroup[Exception], Path],
) -> None:
    errors, _ = group
    assert sorted(type(each).__name__ for each in errors.exceptions) == ["PassViolation"] * 2
    titles = sorted(each.violation.title for each in errors.exceptions)  # type: ignore[attr-defined]  # as seen
    assert [title.partition(":")[0] for title in titles] == ["KeyError", "ValueError"]
    for each in errors.exceptions:
        (note,) = [n for n in each.__notes__ if "@I.ir_module" in n]
        assert note.count("@R.function") == 1
        assert len(re.findall(r"R\.(exp|sin|negative)\(", note)) == 1


def test_the_blob_that_is_printed_fails_at_once(
    group: tuple[BaseExceptionGroup[Exception], Path],
) -> None:
    notes = "".join(group[0].exceptions[0].__notes__)
    decorator = re.search(r"@reproduce_failure\((.*)\)", notes)
    assert decorator is not None
    seen = []

    @settings(QUICK)
    @hypothesis.reproduce_failure(*eval(decorator[1]))
    @given(MODULES)
    def test(mod: tvm.IRModule) -> None:
        seen.append(mod)
        check_pass(two_bugs(), mod)

    with pytest.raises(PassViolation) as raised:
        test()
    assert len(seen) == 1
    assert raised.value.violation == group[0].exceptions[0].violation  # type: ignore[attr-defined]  # as seen


def test_the_database_brings_the_example_back(tmp_path: Path) -> None:
    seen: list[bool] = []

    @settings(QUICK, database=DirectoryBasedExampleDatabase(tmp_path / "db"))
    @given(MODULES)
    def test(mod: tvm.IRModule) -> None:
        seen.append("relax.exp" in ops_used(mod))
        if seen[-1]:
            check_pass(two_bugs(), mod)

    with pytest.raises(PassViolation):
        test()
    seen.clear()
    with pytest.raises(PassViolation):
        test()
    assert seen[0], "the first example of the second run fails"


def module_with(op: Callable[[relax.Expr], relax.Expr]) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op(x)))
    return builder.get()


def test_an_example_by_hand_comes_first_and_is_looked_into() -> None:
    @settings(QUICK, phases=[Phase.explicit])
    @example(module_with(relax.op.exp))
    @given(MODULES)
    def test(mod: tvm.IRModule) -> None:
        check_pass(two_bugs(), mod)

    with pytest.raises(PassViolation, match=r"KeyError") as raised:
        test()
    assert "Reproducer, with a gap for the pass" in str(raised.value)
    (path,) = Path(".relaxfuzz").glob("*.py")
    assert "the_pass = ..." in path.read_text()


def test_a_check_is_not_timed() -> None:
    def slow(mod: tvm.IRModule) -> tvm.IRModule:
        time.sleep(0.2)
        return mod

    deadline = datetime.timedelta(milliseconds=100)
    pass_ = made_pass(slow, "Slow")

    @settings(QUICK, deadline=deadline, max_examples=1)
    @given(st.just(module_with(relax.op.exp)))
    def test(mod: tvm.IRModule) -> None:
        check_pass(pass_, mod, oracles=["crash"])

    @settings(QUICK, deadline=deadline, max_examples=1, phases=[Phase.generate])
    @given(st.none())
    def timed(_: None) -> None:
        time.sleep(0.2)

    test()
    with pytest.raises(hypothesis.errors.DeadlineExceeded):
        timed()


def place(violation: Violation) -> str:
    """Where Hypothesis sees a failure come from."""
    with pytest.raises(PassViolation) as raised:
        fail(PassViolation("text", violation), violation)
    return raised.traceback[-1].frame.code.raw.co_filename


def wrong(oracle: str, *key: str) -> Violation:
    return Violation("title", "detail", key).blame(oracle, "FuseOps")


def raises(function: str, condition: str, name: str = "exp") -> Violation:
    found = Violation(
        title=f"KeyError: {name}",
        detail=f"KeyError: {name}",
        key=("KeyError", condition),
        trace=Trace(("mine.py:transform", function), condition),
        raised=Raised("KeyError"),
    )
    return found.blame("crash", "FuseOps")


def dies(oracle: str, function: str) -> Violation:
    found = Violation("title", "detail", (), trace=Trace((function,)))
    return found.blame(oracle, "FuseOps")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            wrong("evaluated", "values", "relax.cos"),
            wrong("evaluated", "values", "relax.sin"),
            True,
        ),
        (wrong("evaluated", "values", "relax.cos"), wrong("evaluated", "shape"), False),
        (raises("Fuse", "(n > 0)", "exp"), raises("Fuse", "(n > 0)", "sin"), True),
        (raises("Fuse", "(n > 0)"), raises("Split", "(n > 0)"), False),
        (wrong("well-formed", "ill-formed", "a"), wrong("well-formed", "ill-formed", "b"), False),
        (dies("segfault", "Fuse"), dies("segfault", "Split"), False),
    ],
)
def test_which_failures_are_one_bug(one: Violation, other: Violation, same: bool) -> None:
    assert (place(one) == place(other)) is same

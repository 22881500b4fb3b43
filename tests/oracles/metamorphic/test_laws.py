"""The oracles of laws: on passes that make code of operators, and on whole builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.metamorphic.laws import LAWS_OF_BUILDS, WITH_NAN
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, Violation

from ..snippets import run_snippet

FILE = Path(__file__).with_name("law_faults.py")
PASS, PIPELINE = "operator-laws", "operator-laws-by-pipeline"

ORDER = "depends on the order of its operand's elements"
OPERANDS = "depends on the order of its operands"
MIRROR = "is not mirrored where its operand is"
nn = relax.op.nn

BEYOND = "gives numbers beyond those of its operand"


def module(make: Any, *shapes: tuple[int, ...], dtype: str = "float32") -> tvm.IRModule:
    """A module whose main is one call."""
    params = [relax.Var(f"x{i}", relax.TensorType(s, dtype)) for i, s in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(make(*params)))
    return builder.get()


def case(mod: tvm.IRModule, factory: str) -> Case:
    return Case(mod, (PassCall(f"{factory}()", factory=f"{FILE}:{factory}"),))


def legalized(mod: tvm.IRModule) -> list[Violation]:
    return check(Case(mod, (PassCall("LegalizeOps()"),)), oracles=[PASS])


def average(x: relax.Var) -> relax.Expr:
    return nn.avg_pool2d(x, (3, 3))


def maximum() -> tvm.IRModule:
    return module(relax.op.max, (5,))


@pytest.mark.parametrize("factory", ["keeps_nan", "loses_nan", "does_not_lower"])
def test_no_side_is_taken(factory: str) -> None:
    assert check(case(maximum(), factory), oracles=[PASS]) == []


@pytest.mark.parametrize(
    ("factory", "key"), [("depends_on_places", ORDER + WITH_NAN), ("begins_with_zero", BEYOND)]
)
def test_a_users_pass_is_blamed_for_its_code(factory: str, key: str) -> None:
    (violation,) = check(case(maximum(), factory), oracles=[PASS])
    assert violation.key == (key,)
    assert "relax.max(" in violation.detail
    assert not violation.pass_name.startswith("relax.")
    with pytest.raises(AssertionError):
        run_snippet(PASS, case(maximum(), factory))


@pytest.mark.parametrize(
    ("mod", "keys"),
    [
        (module(relax.op.argmax, (3,)), [ORDER + WITH_NAN]),
        (module(lambda x: relax.op.argmin(x, 1, keepdims=True), (2, 3)), [ORDER + WITH_NAN]),
        (module(relax.op.minimum, (3,), (3,)), [OPERANDS + WITH_NAN]),
        (
            module(lambda x: nn.max_pool1d(x, 2), (1, 1, 5)),
            [MIRROR + WITH_NAN, BEYOND],
        ),
        (module(average, (1, 1, 6, 6), dtype="uint8"), [BEYOND]),
        (module(lambda x: nn.adaptive_avg_pool1d(x, 1), (1, 1, 6), dtype="int8"), [BEYOND]),
        (module(relax.op.mean, (6, 6), dtype="int8"), [BEYOND]),
        (module(relax.op.mean, (6, 6), dtype="float16"), [BEYOND]),
    ],
)  # fmt: skip
def test_legalizations_that_break_a_law(mod: tvm.IRModule, keys: list[str]) -> None:
    violations = legalized(mod)
    assert [violation.key for violation in violations] == [(key,) for key in keys]
    assert all(violation.pass_name.startswith("relax.") for violation in violations)


@pytest.mark.parametrize(
    "mod",
    [
        module(relax.op.sum, (3, 4)),
        module(relax.op.max, (3, 4), dtype="int8"),
        module(relax.op.add, (3, 1), (4,)),
        module(nn.softmax, (2, 3)),
        module(lambda x, g, b: nn.layer_norm(x, g, b, [1, 2]), (2, 3, 4), (3, 4), (3, 4)),
        module(average, (1, 1, 6, 6)),
        module(average, (1, 1, 6, 6), dtype="int32"),
        module(lambda x: relax.op.image.resize2d(x, (8, 8)), (1, 1, 5, 5)),
        module(relax.op.exp, (3,)),
        module(relax.op.negative, (3,)),
    ],
)  # fmt: skip
def test_legalizations_that_keep_the_laws(mod: tvm.IRModule) -> None:
    assert legalized(mod) == []


def test_another_finding_explains_nothing_of_an_operator() -> None:
    mod = module(average, (1, 1, 6, 6), dtype="uint8")
    found = check(Case(mod, (PassCall("LegalizeOps()"),)), oracles=["signature", PASS, "evaluated"])
    assert [violation.oracle for violation in found] == ["signature", PASS]


@pytest.mark.parametrize(
    ("make", "blamed"),
    [
        (relax.op.sort, "relax.sort"),
        (lambda x: relax.op.topk(x, 2, ret_type="indices"), "relax.topk"),
        (lambda x: relax.op.median(x, [0]), "relax.median"),
    ],
)
def test_a_build_that_breaks_a_law(make: Any, blamed: str) -> None:
    built = Case(module(make, (5,)), pipeline="default")
    (violation,) = check(built, oracles=[PIPELINE])
    assert (violation.pass_name, violation.key) == (blamed, (ORDER + WITH_NAN,))
    with pytest.raises(AssertionError):
        run_snippet(PIPELINE, built)


def test_a_build_shows_all_laws_that_it_breaks() -> None:
    def make(x: relax.Var) -> relax.Expr:
        return relax.op.maximum(x, relax.op.max(x))

    found = check(Case(module(make, (5,)), pipeline="default"), oracles=[PIPELINE])
    assert sorted((each.pass_name, *each.key) for each in found) == [
        ("relax.max", ORDER + WITH_NAN),
        ("relax.max", BEYOND),
        ("relax.maximum", OPERANDS + WITH_NAN),
    ]


def test_each_violation_has_a_text_of_its_own() -> None:
    built = Case(maximum(), pipeline="default")
    order, beyond = check(built, oracles=[PIPELINE])
    (one,), (other,) = (list(LAWS_OF_BUILDS.brief(built, each)) for each in (order, beyond))
    assert "low, high" not in one
    assert "low, high = -np.inf, -np.inf" in other
    for text in (one, other):
        with pytest.raises(AssertionError):
            exec(text, {"mod": maximum(), "tvm": tvm, "relax": relax, "np": np})


@pytest.mark.parametrize(
    "mod",
    [
        module(relax.op.mean, (5,)),
        module(relax.op.sort, (5,), dtype="int32"),
        module(lambda x: relax.op.flip(x, 0), (5,)),
        # It gives two results instead of one, which is another finding.
        module(lambda x: relax.op.median(x, [0, 1]), (3, 3)),
    ],
)
def test_a_build_that_keeps_the_laws(mod: tvm.IRModule) -> None:
    assert check(Case(mod, pipeline="default"), oracles=[PIPELINE]) == []

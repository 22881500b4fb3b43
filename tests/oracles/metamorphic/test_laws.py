"""The laws of operators, in builds."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax

from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.metamorphic.questions import WITH_INFINITY, WITH_NAN
from relaxfuzz.oracles.violation import Case, Violation

from ..snippets import run_snippet

PIPELINE = "operator-laws-by-pipeline"

ORDER = "depends on the order of its operand's elements"
OPERANDS = "depends on the order of its operands"
MIRROR = "is not mirrored where its operand is"
nn = relax.op.nn

BEYOND = "gives numbers beyond those of its operand"
OUTSIDE = "points outside of its operand"
SPREAD = "gives a spread beyond that of its operand"
NUMBER = "gives a number for every element"


def module(make: Any, *shapes: tuple[int, ...], dtype: str = "float32") -> tvm.IRModule:
    """A module whose main is one call."""
    params = [relax.Var(f"x{i}", relax.TensorType(s, dtype)) for i, s in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(make(*params)))
    return builder.get()


def broken(mod: tvm.IRModule) -> list[Violation]:
    return check(Case(mod, pipeline="default"), oracles=[PIPELINE])


def average(x: relax.Var) -> relax.Expr:
    return nn.avg_pool2d(x, (3, 3))


def maximum() -> tvm.IRModule:
    return module(relax.op.max, (5,))


@pytest.mark.parametrize(
    ("mod", "keys"),
    [
        (module(relax.op.argmax, (3,)), [ORDER + WITH_NAN, OUTSIDE + WITH_INFINITY]),
        (
            module(lambda x: relax.op.argmin(x, 1, keepdims=True), (2, 3)),
            [ORDER + WITH_NAN, OUTSIDE + WITH_INFINITY],
        ),
        (module(relax.op.argmax, (2, 3), dtype="int8"), [OUTSIDE]),
        (module(relax.op.variance, (30,), dtype="float16"), [SPREAD]),
        (module(lambda x: relax.op.std(x, [1]), (2, 30), dtype="float16"), [SPREAD]),
        (module(relax.op.minimum, (3,), (3,)), [OPERANDS + WITH_NAN]),
        (module(nn.relu, (3,)), [NUMBER + WITH_NAN]),
        (module(lambda x: relax.op.clip(x, 0, 1), (3,), dtype="float16"), [NUMBER + WITH_NAN]),
        (module(relax.op.sign, (3,), dtype="float64"), [NUMBER + WITH_NAN]),
        (
            module(lambda x: nn.max_pool1d(x, 2), (1, 1, 5)),
            [MIRROR + WITH_NAN, BEYOND + WITH_INFINITY],
        ),
        (module(average, (1, 1, 6, 6), dtype="uint8"), [BEYOND]),
        (module(lambda x: nn.adaptive_avg_pool1d(x, 1), (1, 1, 6), dtype="int8"), [BEYOND]),
        (module(relax.op.mean, (6, 6), dtype="int8"), [BEYOND]),
        (module(relax.op.mean, (6, 6), dtype="float16"), [BEYOND]),
    ],
)  # fmt: skip
def test_code_that_breaks_a_law(mod: tvm.IRModule, keys: list[str]) -> None:
    violations = broken(mod)
    assert [violation.key for violation in violations] == [(key,) for key in keys]
    assert all(violation.pass_name.startswith("relax.") for violation in violations)


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
        run_snippet(PIPELINE, built, violation)


def test_a_build_shows_all_laws_that_it_breaks() -> None:
    def make(x: relax.Var) -> relax.Expr:
        return relax.op.maximum(x, relax.op.max(x))

    found = check(Case(module(make, (5,)), pipeline="default"), oracles=[PIPELINE])
    assert sorted((each.pass_name, *each.key) for each in found) == [
        ("relax.max", ORDER + WITH_NAN),
        ("relax.max", BEYOND + WITH_INFINITY),
        ("relax.maximum", OPERANDS + WITH_NAN),
    ]


def test_code_that_keeps_the_laws() -> None:
    """All in one build."""
    kept = (
        module(relax.op.sum, (3, 4)),
        module(relax.op.max, (3, 4), dtype="int8"),
        module(relax.op.add, (3, 1), (4,)),
        module(average, (1, 1, 6, 6)),
        module(average, (1, 1, 6, 6), dtype="int32"),
        module(lambda x: relax.op.image.resize2d(x, (8, 8)), (1, 1, 5, 5)),
        module(relax.op.mean, (5,)),
        module(relax.op.variance, (5,)),
        module(relax.op.sort, (5,), dtype="int32"),
        module(lambda x: relax.op.flip(x, 0), (5,)),
        module(nn.relu, (5,), dtype="int32"),
        module(nn.gelu, (5,)),
        module(lambda x: nn.leakyrelu(x, 0.1), (5,)),
        module(nn.softmax, (3, 4)),
        module(relax.op.floor_mod, (5,), (5,)),
        module(relax.op.mod, (5,), (5,)),
        # It gives two results instead of one, which is another finding.
        module(lambda x: relax.op.median(x, [0, 1]), (3, 3)),
    )
    functions = {
        f"f{at}": mod["main"].with_attr("global_symbol", f"f{at}") for at, mod in enumerate(kept)
    }
    assert broken(tvm.IRModule(functions)) == []

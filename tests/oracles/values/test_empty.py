"""Reductions of tensors without elements: memory counts where there is no value."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from relaxfuzz import evaluate
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.errors import NoValue
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case, Violation

from ..snippets import run_snippet

UNWRITTEN = "output left unwritten by a reduction over nothing"


def reduction(name: str, *shape: int | str) -> tvm.IRModule:
    """The reduction over the last axis."""
    dims = [tvm.tirx.Var(dim, "int64") if isinstance(dim, str) else dim for dim in shape]
    x = relax.Var("x", relax.TensorType(dims, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(getattr(relax.op, name)(x, axis=1)))
    return builder.get()


def legalized(mod: tvm.IRModule) -> list[Violation]:
    return check(Case(mod, (PassCall("LegalizeOps()"),)), oracles=["sanitized"])


def built(mod: tvm.IRModule) -> list[Violation]:
    return check(Case(mod, pipeline="default"), oracles=["executed-by-pipeline"])


def test_the_maximum_of_nothing_has_no_value() -> None:
    with pytest.raises(NoValue, match=r"relax\.max"):
        evaluate(reduction("max", 2, 0), "main", [np.zeros((2, 0), "float32")])


@pytest.mark.parametrize(("name", "size"), [("sum", "n"), ("max", 0), ("argmax", 0), ("min", "n")])
def test_what_a_legalization_leaves_unwritten_is_found(name: str, size: int | str) -> None:
    (violation,) = legalized(reduction(name, 2, size))
    assert violation.key == (UNWRITTEN,)


@pytest.mark.parametrize(("name", "size"), [("sum", "n"), ("max", 0)])
def test_a_build_that_leaves_it_is_wrong_whatever_it_gives(name: str, size: int | str) -> None:
    mod = reduction(name, 2, size)
    (violation,) = built(mod)
    assert (violation.key, violation.pass_name) == ((UNWRITTEN,), "LegalizeOps")
    whole = Case(mod, pipeline="default")
    with pytest.raises(AssertionError, match="never written"):
        run_snippet("executed-by-pipeline", whole, violation, ours=True)


@pytest.mark.parametrize(("name", "size"), [("sum", 0), ("max", 3), ("argmax", 3)])
def test_what_is_written_is_left_alone(name: str, size: int) -> None:
    assert legalized(reduction(name, 2, size)) == built(reduction(name, 2, size)) == []


def test_a_class_that_is_not_there_is_the_callers_mistake() -> None:
    x = relax.Var("x", relax.TensorType((2, 2), "float32"))
    y = relax.Var("y", relax.TensorType((2,), "int64"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(relax.op.nn.nll_loss(x, y)))
    assert not legalized(builder.get())


@pytest.mark.parametrize(("image", "keys"), [(0, [(UNWRITTEN,)]), (1, [])])
def test_code_behind_an_operator_without_a_value_must_have_a_meaning(
    image: int, keys: list[tuple[str, ...]]
) -> None:
    """No image has the number 1: what its region holds is read outside of the images."""
    x = relax.Var("x", relax.TensorType((2, 0), "float32"))
    images = relax.const(np.ones((1, 1, 2, 2), "float32"))
    regions = relax.const(np.array([[image, 0, 0, 1, 1]], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        most = builder.emit(relax.op.max(x, axis=1))
        aligned = relax.op.vision.roi_align(images, regions, (1, 1), 1.0)
        builder.emit_func_output(relax.Tuple([most, builder.emit(aligned)]))
    assert [violation.key for violation in legalized(builder.get())] == keys

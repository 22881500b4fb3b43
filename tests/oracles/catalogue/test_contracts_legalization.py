"""What legalizations may refuse."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import tvm
from tvm import relax, tirx

from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.violation import Case


def module(result: relax.Expr, *params: relax.Var) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(result))
    return builder.get()


def sampled(layout: str, shape: Sequence[int]) -> tvm.IRModule:
    x, grid = (
        relax.Var(name, relax.TensorType(each, "float32"))
        for name, each in (("x", shape), ("grid", (2, 2, 4, 4)))
    )
    return module(relax.op.image.grid_sample(x, grid, layout=layout), x, grid)


def cubic(shape: Sequence[int]) -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    grid = relax.Var("grid", relax.TensorType((2, 3, 4, 4, 4), "float32"))
    sample = relax.op.image.grid_sample(x, grid, layout="NCDHW", method="bicubic")
    return module(sample, x, grid)


def affine(*sizes: int | tirx.Var) -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((2, 2, 3), "float32"))
    y = relax.Var("y", relax.ShapeType(sizes))
    return module(relax.op.image.affine_grid(x, relax.ShapeExpr(sizes)), x, y)


REFUSED = {
    "a layout": sampled("NHWC", (2, 4, 4, 2)),
    "a packed layout": sampled("NCHW2c", (2, 1, 4, 4, 2)),
    "a packed layout of rank 6": sampled("WHNC2c", (4, 4, 2, 1, 2)),
    "a method that volumes do not have": cubic((2, 2, 4, 4, 4)),
    "a symbolic size": affine(2, tirx.Var("n", "int64")),
}


@pytest.mark.parametrize("name", ["LegalizeOps", "FoldConstant"])
@pytest.mark.parametrize("mod", REFUSED.values(), ids=REFUSED)
def test_what_a_message_names_as_not_supported_may_be_refused(mod: tvm.IRModule, name: str) -> None:
    assert check(Case(mod, (PassCall(f"{name}()"),)), oracles=["crash"]) == []


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("bicubic is not supported", True),
        ("Unsupported layout for roi_align: NCDHW", True),
        ("float32 is not supported", False),  # a dtype that type inference has accepted
        ("linear is not supported", False),  # no call of the module has it
    ],
)
def test_only_the_value_of_an_attribute_makes_not_supported_a_refusal(
    text: str, refused: bool
) -> None:
    given = cubic((2, 2, 4, 4, 4))
    found = [each.covers(ValueError(text), given) for each in catalogue["LegalizeOps"].rejections]
    assert any(found) is refused


@pytest.mark.parametrize(
    ("begin", "end", "inbound", "outside"),
    [
        (0, 2, True, False),
        (1, 3, True, True),
        (-1, 2, True, True),
        (1, 3, False, False),
    ],
)
def test_a_slice_outside_of_its_tensor_promises_no_type(
    begin: int, end: int, inbound: bool, outside: bool
) -> None:
    x = relax.Var("x", relax.TensorType((3, 2), "float32"))
    sliced = relax.op.strided_slice(x, [1], [begin], [end], assume_inbound=inbound)
    call = PassCall("LegalizeOps()")
    found = catalogue["LegalizeOps"].exemption("signature", module(sliced, x), call)
    assert (found is not None) == outside

"""A framework's results for its model against the module that an importer has made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.fuzz.session.imports import text
from relaxfuzz.oracles.values.frameworks import FrameworkNode, FrameworkReference, saved

from .verdicts import verdict_of

X = np.array([[True, False, True, True]])
Y = np.array([[1.0, 2.0, 3.0, 4.0]], "float32")

NODES = (
    FrameworkNode("aten.cumsum.default", "total", "int64", (1, 4)),
    FrameworkNode("aten.index.Tensor", "chosen", "int64", (1, 4), ("total",)),
    FrameworkNode("aten.mul.Tensor", "product", "float32", (1, 4)),
)


@I.ir_module
class Imported:
    @R.function
    def main(x: R.Tensor((1, 4), "bool"), y: R.Tensor((1, 4), "float32")) -> R.Tuple(
        R.Tensor((1, 4), "int64"), R.Tensor((1, 4), "float32")
    ):
        with R.dataflow():
            total = R.cumsum(x, axis=1, dtype="int64")
            chosen = R.minimum(total, R.const(2, "int64"))
            product = R.multiply(y, y)
            result = (chosen, product)
            R.output(result)
        return result


@I.ir_module
class WithoutDtype:
    """The importer has left out the dtype, and brought the result back to the one of PyTorch."""

    @R.function
    def main(x: R.Tensor((1, 4), "bool"), y: R.Tensor((1, 4), "float32")) -> R.Tuple(
        R.Tensor((1, 4), "int64"), R.Tensor((1, 4), "float32")
    ):
        with R.dataflow():
            total = R.cumsum(x, axis=1)
            chosen = R.astype(total, "int64")
            product = R.multiply(y, y)
            result = (chosen, product)
            R.output(result)
        return result


def reference(**others: Any) -> FrameworkReference:
    total = np.cumsum(X, axis=1, dtype="int64")
    given: dict[str, Any] = {
        "framework": "torch 2.14.1",
        "importer": "relax.frontend.torch.from_exported_program",
        "args": [X, Y],
        "outputs": [np.minimum(total, 2), Y * Y],
        "nodes": NODES,
        "values": {"total": total, "product": Y * Y},
    }
    return FrameworkReference(**{**given, **others})


def test_a_right_import_is_left_alone() -> None:
    verdict = verdict_of(Imported, reference())
    assert not verdict.fails
    assert verdict.agree
    assert text(verdict)[1:] == [
        "  the NumPy evaluation of the module agrees",
        "  the default build agrees",
    ]


def test_the_importer_is_blamed_for_another_value() -> None:
    verdict = verdict_of(
        Imported,
        reference(outputs=[np.cumsum(X, 1), Y + Y], values={"product": Y + Y}),
    )
    assert verdict.fails
    assert verdict.starts == "aten.mul.Tensor (relax.multiply, product)"
    assert (
        "  the importer relax.frontend.torch.from_exported_program gives another value than torch, "
        "starting with aten.mul.Tensor (relax.multiply, product); relax's passes agree with one "
        "another"
    ) in text(verdict)


def test_a_dtype_that_the_importer_leaves_out_is_named_and_so_is_the_build_that_fails() -> None:
    verdict = verdict_of(WithoutDtype, reference())
    assert verdict.types == (
        "aten.cumsum.default gives int64 in torch and bool in the module (relax.cumsum, total)",
    )
    assert verdict.not_built is not None
    assert "MatchesCode" in verdict.not_built
    assert verdict.fails


def test_what_is_computed_from_another_type_is_no_news() -> None:
    nodes = (
        FrameworkNode("aten.cumsum.default", "total", "int32", (1, 4)),
        FrameworkNode("aten.clamp.default", "chosen", "int32", (1, 4), ("total",)),
    )
    assert len(verdict_of(Imported, reference(nodes=nodes)).types) == 1


def test_a_shape_that_contradicts_and_one_that_is_open() -> None:
    nodes = (
        FrameworkNode("aten.a", "total", "int64", (1, 5)),
        FrameworkNode("aten.b", "product", "float32", (-1, 4)),
    )
    assert verdict_of(Imported, reference(nodes=nodes)).types == (
        "aten.a gives the shape [1, 5] in torch and [1, 4] in the module (relax.cumsum, total)",
    )


def test_other_arguments_are_not_compared() -> None:
    verdict = verdict_of(Imported, reference(args=[X]))
    assert verdict.not_evaluated == "2 parameters for 1 example arguments"
    assert not verdict.fails


def test_a_module_without_a_record_is_not_evaluated() -> None:
    @I.ir_module
    class Packed:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.call_pure_packed("no.such.function", x, ty_args=R.Tensor((2,), "float32"))

    two = np.ones(2, "float32")
    verdict = verdict_of(Packed, reference(args=[two], outputs=[two], nodes=(), values={}))
    assert verdict.not_evaluated is not None
    assert verdict.not_built is not None
    assert not verdict.fails


def test_it_is_written_and_read(tmp_path: Path) -> None:
    half = np.ones((2, 2), ml_dtypes.bfloat16)
    written = reference(values={"total": half, "product": Y})
    written.save(tmp_path)
    read = saved(tmp_path)
    assert read is not None
    assert (read.framework, read.importer, tuple(read.nodes)) == (
        written.framework,
        written.importer,
        NODES,
    )
    assert read.values["total"].dtype == half.dtype
    for one, other in zip(read.args, written.args, strict=True):
        np.testing.assert_array_equal(one, other)
    assert saved(tmp_path / "nowhere") is None

"""Modules on which passes raise or end their process, and others on which they do not."""
# ruff: noqa: RET504

from __future__ import annotations

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.generators.stages import Stage

from ..witness import Witness

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")


@I.ir_module
class Vectors:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y


@I.ir_module
class EmptyVectors:
    @R.function
    def main(x: R.Tensor((2, 0), "float32")) -> R.Tensor((2, 0), "float32"):
        y = R.add(x, x)
        return y


@I.ir_module
class Halves:
    @R.function
    def main(x: R.Tensor((2, 3), "bfloat16")) -> R.Tensor((2, 3), "bfloat16"):
        y = R.add(x, x)
        return y


@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(
        (2, 3), "float32"
    ):
        n = R.logical_not(c)
        if n:
            a = R.negative(x)
            b = R.add(a, x)
            r = R.multiply(b, x)
        else:
            r = R.multiply(x, x)
        return r


@I.ir_module
class Squeezes:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 1, 3), "float32"):
        y = R.expand_dims(x, axis=1)
        return y


@I.ir_module
class SymbolicSqueezes:
    @R.function
    def main(x: R.Tensor((2, "n"), "float32")) -> R.Tensor((2, 1, "n"), "float32"):
        y = R.expand_dims(x, axis=1)
        return y


@I.ir_module
class Straight:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.negative(x)
        z = R.multiply(y, x)
        return z


@I.ir_module
class InPlace:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            y = R.negative(x)
            z = R.exp(y)
            R.output(z)
        return z


@I.ir_module
class CastFirst:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
        n = T.int64()
        with R.dataflow():
            y = R.match_cast(x, R.Tensor((n, 3), "float32"))
            z = R.exp(y)
            R.output(z)
        return z


@I.ir_module
class CastSecond:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
        n = T.int64()
        with R.dataflow():
            y = R.exp(x)
            z = R.match_cast(y, R.Tensor((n, 3), "float32"))
            R.output(z)
        return z


@I.ir_module
class Tuples:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")) -> R.Tuple(
        R.Tensor((2, 2), "float32"), R.Tensor((2, 2), "float32")
    ):
        y = R.split(x, 2, axis=1)
        return y


@I.ir_module
class VagueTuples:
    @R.function
    def main(
        x: R.Tuple(R.Tensor(ndim=2, dtype="float32"), R.Tensor((3,), "float32")),
    ) -> R.Tuple(R.Tensor(ndim=2, dtype="float32"), R.Tensor((3,), "float32")):
        return x


WITNESSES = (
    Witness("squeezes_by_reshape", "crash", SymbolicSqueezes),
    Witness("operands_in_order", "crash", Branches),
    Witness("vector_widths", "death", EmptyVectors, stage=Stage.LEGALIZED),
    Witness("unnegates_conditions", "death", Branches),
    Witness("notes_wide_arithmetic", "death", Halves, stage=Stage.LEGALIZED),
    Witness("counts_in_place", "death", CastFirst),
    Witness("writes_out_tuples", "death", VagueTuples),
    Witness("notes_iterators", "unstable", Vectors, stage=Stage.LEGALIZED),
    Witness("vector_widths", None, Vectors, (X,), Stage.LEGALIZED),
    Witness("unnegates_conditions", None, Straight, (X,)),
    Witness("notes_wide_arithmetic", None, Vectors, (X,), Stage.LEGALIZED),
    Witness("squeezes_by_reshape", None, Squeezes, (X,)),
    Witness("operands_in_order", None, Straight, (X,)),
    Witness("counts_in_place", None, InPlace, (X,)),
    Witness("counts_in_place", None, CastSecond, (X,)),
    Witness("writes_out_tuples", None, Tuples, (np.ones((2, 4), "float32"),)),
)

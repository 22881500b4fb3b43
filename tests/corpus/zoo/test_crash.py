"""Each fault shows where its trigger is, and the pass is right where it is not."""
# ruff: noqa: RET504

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz import evaluate
from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.corpus.zoo import crash
from relaxfuzz.generators.stages import Stage, advance

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")

DANGEROUS = """
import resource, sys, time
from relaxfuzz.compat.serialization import load_json
from relaxfuzz.corpus.zoo import crash

mod = load_json(open(sys.argv[2]).read())
seconds = int(time.process_time()) + 2
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
getattr(crash, sys.argv[1])()(mod)
"""


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
class Circle:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y: R.Tensor((2, 3), "float32") = Circle.other(x)
        return y

    @R.function(private=True)
    def other(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y: R.Tensor((2, 3), "float32") = Circle.main(x)
        return y


@I.ir_module
class Calls:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = Calls.same(x)
        z = Calls.twice(y)
        return z

    @R.function(private=True)
    def same(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return x

    @R.function(private=True)
    def twice(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(x, x)
        return y

    @R.function(private=True)
    def idle(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return x


@I.ir_module
class Closure:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        @R.function
        def local(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            z = R.add(y, y)
            return z

        r: R.Tensor((2, 3), "float32") = local(x)
        return r


@I.ir_module
class Pattern:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        @R.function
        def local(y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            R.func_attr({"Composite": "NPU.Add"})
            z = R.add(y, y)
            return z

        r: R.Tensor((2, 3), "float32") = local(x)
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
class Splits:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 2), "float32"):
        y = R.split(x, 2, axis=1)
        z = y[0]
        return z


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
class Permutations:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32")) -> R.Tensor((4, 2, 3), "float32"):
        y = R.permute_dims(x, axes=[1, 2, 0])
        z = R.permute_dims(y, axes=[1, 2, 0])
        return z


@I.ir_module
class Reversed:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32")) -> R.Tensor((4, 2, 3), "float32"):
        y = R.permute_dims(x)
        z = R.permute_dims(y, axes=[0, 2, 1])
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


@I.ir_module
class ConstantFirst:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(R.const(2.0, "float32"), x)
        return y


@I.ir_module
class TwoConstants:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.add(R.const(2.0, "float32"), R.const(3.0, "float32"))
        z = R.multiply(x, y)
        return z


EXCEPTIONS: list[tuple[str, Any, Stage, str]] = [
    ("removes_unreachable", Circle, Stage.RAW, "recursion"),
    ("patterns_in_lower_case", Closure, Stage.RAW, "key is not in Map"),
    ("forwards_identities", Straight, Stage.REWRITTEN, "has no attribute"),
    ("squeezes_by_reshape", SymbolicSqueezes, Stage.RAW, "int"),
    ("notes_output_bytes", Splits, Stage.LEGALIZED, "has no attribute 'shape'"),
    ("operands_in_order", Branches, Stage.RAW, "a"),
    ("composes_permutations", Reversed, Stage.RAW, "NoneType"),
    ("constants_second", TwoConstants, Stage.RAW, "recursion"),
]

DEATHS: list[tuple[str, Any, Stage, int]] = [
    ("vector_widths", EmptyVectors, Stage.LEGALIZED, -signal.SIGXCPU),
    ("unnegates_conditions", Branches, Stage.RAW, -signal.SIGXCPU),
    ("notes_wide_arithmetic", Halves, Stage.LEGALIZED, -signal.SIGABRT),
    ("counts_in_place", CastFirst, Stage.RAW, -signal.SIGSEGV),
    ("writes_out_tuples", VagueTuples, Stage.RAW, -signal.SIGXCPU),
]

HARMLESS: list[tuple[str, Any, Stage, tuple[Any, ...] | None]] = [
    ("vector_widths", Vectors, Stage.LEGALIZED, (X,)),
    ("unnegates_conditions", Straight, Stage.RAW, (X,)),
    ("removes_unreachable", Calls, Stage.RAW, (X,)),
    ("notes_wide_arithmetic", Vectors, Stage.LEGALIZED, (X,)),
    ("patterns_in_lower_case", Pattern, Stage.RAW, (X,)),
    ("forwards_identities", Calls, Stage.RAW, (X,)),
    ("squeezes_by_reshape", Squeezes, Stage.RAW, (X,)),
    ("notes_output_bytes", Vectors, Stage.LEGALIZED, (X,)),
    ("operands_in_order", Straight, Stage.RAW, (X,)),
    ("counts_in_place", InPlace, Stage.RAW, (X,)),
    ("counts_in_place", CastSecond, Stage.RAW, (X,)),
    ("composes_permutations", Permutations, Stage.RAW, (np.ones((2, 3, 4), "float32"),)),
    ("writes_out_tuples", Tuples, Stage.RAW, (np.ones((2, 4), "float32"),)),
    ("constants_second", ConstantFirst, Stage.RAW, (X,)),
]
UNCHANGED = ("unnegates_conditions", "notes_wide_arithmetic")
"""Passes that have nothing to do there."""


@pytest.mark.parametrize(("name", "mod", "stage", "text"), EXCEPTIONS)
def test_raises(name: str, mod: tvm.IRModule, stage: Stage, text: str) -> None:
    with pytest.raises(Exception, match=re.escape(text)):
        getattr(crash, name)()(advance(mod, stage))


@pytest.mark.parametrize(("name", "mod", "stage", "code"), DEATHS)
def test_dies(name: str, mod: tvm.IRModule, stage: Stage, code: int, tmp_path: Path) -> None:
    path = tmp_path / "mod.json"
    path.write_text(save_json(advance(mod, stage)))
    command = [sys.executable, "-c", DANGEROUS, name, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr[-2000:]


def test_raises_the_second_time() -> None:
    pass_ = crash.notes_iterators()
    once = pass_(advance(Vectors, Stage.LEGALIZED))
    relax.analysis.well_formed(once)
    with pytest.raises(Exception, match=r"S vs\. SS"):
        pass_(once)


@pytest.mark.parametrize(("name", "mod", "stage", "inputs"), HARMLESS)
def test_is_right_without_the_trigger(
    name: str, mod: tvm.IRModule, stage: Stage, inputs: tuple[Any, ...]
) -> None:
    before = advance(mod, stage)
    text = save_json(before)
    pass_ = getattr(crash, name)()
    after = pass_(before)
    relax.analysis.well_formed(after)
    assert save_json(before) == text
    assert tvm_ffi.structural_equal(before, after, map_free_vars=True) == (name in UNCHANGED)
    assert tvm_ffi.structural_equal(pass_(after), after, map_free_vars=True)
    for old, new in zip(_given(before, inputs), _given(after, inputs), strict=True):
        np.testing.assert_array_equal(old, new)


def _given(mod: tvm.IRModule, inputs: tuple[Any, ...]) -> list[Any]:
    result = evaluate(load_json(save_json(mod)), "main", inputs)
    return list(result) if isinstance(result, tuple | list) else [result]


def test_each_is_tested() -> None:
    tested = {name for name, *_ in EXCEPTIONS + DEATHS} | {"notes_iterators"}  # type: ignore[operator]
    assert tested == {specimen.name for specimen in crash.SPECIMENS}

"""Reduction keeps what is asked for, drops the rest, and asks about well-formed modules only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tvm

from relaxfuzz.fuzz.draw import example
from relaxfuzz.fuzz.load import execute
from relaxfuzz.fuzz.minimize.reductions import REDUCTIONS
from relaxfuzz.fuzz.minimize.search import reduce
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.inspect import bindings_of, ops_used
from relaxfuzz.oracles.well_formed import flaw

SCRIPT = """
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    I.module_attrs({"system_lib_prefix": "hello_"})

    @R.function(private=True)
    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x

    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = Module.helper(x)
        return y

    @R.function
    def main(
        x: R.Tensor(("n", 4), "float32"), w: R.Tensor((2,), "float32"), u: R.Tensor((4,), "int32")
    ):
        R.func_attr({"num_input": 2})
        n = T.int64()
        with R.dataflow():
            a = R.add(x, x)
            b = R.nn.relu(a)
            c = R.exp(b)
            d: R.Tensor((4, n), "float32") = R.permute_dims(c)
            e = R.multiply(w, w)
            f = R.subtract(d, d)
            R.output(f, e, c)
        g = R.sin(f)
        return (g, e, c)
"""


@pytest.fixture(scope="module")
def mod(tmp_path_factory: pytest.TempPathFactory) -> tvm.IRModule:
    path = tmp_path_factory.mktemp("script") / "script.py"
    path.write_text(SCRIPT)
    return execute(path)


def uses(*ops: str) -> Callable[[tvm.IRModule], bool]:
    return lambda candidate: {f"relax.{op}" for op in ops} <= ops_used(candidate)


@pytest.mark.parametrize(
    ("ops", "bindings"),
    [(("add",), 1), (("exp",), 1), (("subtract",), 1), (("sin",), 1), (("add", "subtract"), 2)],
)
def test_only_what_is_needed_is_left(
    mod: tvm.IRModule, ops: tuple[str, ...], bindings: int
) -> None:
    small = reduce(mod, uses(*ops), 60)
    assert [gvar.name_hint for gvar in small.get_global_vars()] == ["main"]
    assert len(bindings_of(small)) == bindings
    assert not small.attrs
    assert len(small["main"].params) <= bindings


BRANCHES = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.add(x, x)
        if c:
            a = R.exp(y)
            b = R.sin(a)
            z = R.subtract(b, a)
        else:
            d = R.tanh(y)
            z = R.multiply(d, y)
        return z
"""


@pytest.mark.parametrize("op", ["sin", "tanh"])
def test_a_branch_is_taken_out_of_its_if(tmp_path: Path, op: str) -> None:
    (tmp_path / "script.py").write_text(BRANCHES)
    small = reduce(execute(tmp_path / "script.py"), uses(op), 60)
    assert ops_used(small) == {f"relax.{op}"}
    assert len(bindings_of(small)) == 1


def test_callees_stay_with_their_callers(mod: tvm.IRModule) -> None:
    def calls_helper(candidate: tvm.IRModule) -> bool:
        return "cls.helper(" in candidate.script()

    small = reduce(mod, calls_helper, 60)
    assert {gvar.name_hint for gvar in small.get_global_vars()} == {"helper", "other"}


def test_num_input_follows_the_parameters(mod: tvm.IRModule) -> None:
    small = reduce(mod, lambda m: "main" in m and "num_input" in (m["main"].attrs or {}), 60)
    assert int(small["main"].attrs["num_input"]) <= len(small["main"].params)


def test_the_input_is_left_alone(mod: tvm.IRModule) -> None:
    before = tvm.ir.save_json(mod)
    reduce(mod, uses("exp"), 60)
    assert tvm.ir.save_json(mod) == before


def test_no_time_no_change(mod: tvm.IRModule) -> None:
    assert reduce(mod, lambda candidate: True, -1).same_as(mod)


def test_everything_may_go_and_it_ends(mod: tvm.IRModule) -> None:
    small = reduce(mod, lambda candidate: True, 60)
    assert len(small.functions) == 1
    assert bindings_of(small) == []


def test_only_well_formed_candidates_are_asked_about(mod: tvm.IRModule) -> None:
    asked: list[tvm.IRModule] = []

    def holds(candidate: tvm.IRModule) -> bool:
        asked.append(candidate)
        return False

    assert reduce(mod, holds, 60).same_as(mod)
    assert asked
    assert [problem for candidate in asked if (problem := flaw(candidate))] == []


def test_generated_modules_give_mostly_well_formed_candidates() -> None:
    mods = [example(ir_modules(), 11, index) for index in range(8)]
    candidates = [edit() for mod in mods for reduction in REDUCTIONS for edit in reduction(mod)]
    candidates = [candidate for candidate in candidates if candidate is not None]
    good = sum(flaw(candidate) is None for candidate in candidates)
    assert good >= len(candidates) * 0.9, f"{good} of {len(candidates)}"


def test_modules_survive_json_after_reduction(tmp_path: Path, mod: tvm.IRModule) -> None:
    small = reduce(mod, uses("subtract"), 60)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(small)), small)

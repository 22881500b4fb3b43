"""Reduction keeps what is asked for, drops the rest, and asks about well-formed modules only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.fuzz.minimize.reduction import Edit
from relaxfuzz.fuzz.minimize.reductions import REDUCTIONS
from relaxfuzz.fuzz.minimize.search import Candidate, Search, minimize, search
from relaxfuzz.fuzz.user_input.module_file import execute
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.oracles.checkers import flaw, impossible_casts
from relaxfuzz.oracles.inspect import bindings_of, nodes, ops_used

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
    small = minimize(mod, uses(*ops))
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
    small = minimize(execute(tmp_path / "script.py"), uses(op))
    assert ops_used(small) == {f"relax.{op}"}
    assert len(bindings_of(small)) == 1


def test_everything_may_go_and_it_ends(mod: tvm.IRModule) -> None:
    small = minimize(mod, lambda candidate: True)
    assert len(small.functions) == 1
    assert bindings_of(small) == []


def test_only_well_formed_candidates_are_asked_about(mod: tvm.IRModule) -> None:
    asked: list[tvm.IRModule] = []

    def is_interesting(candidate: tvm.IRModule) -> bool:
        asked.append(candidate)
        return False

    assert minimize(mod, is_interesting).same_as(mod)
    assert asked
    assert [problem for candidate in asked if (problem := flaw(candidate))] == []


def test_no_candidate_has_a_match_cast_to_a_type_that_its_value_cannot_have() -> None:
    """The operand of the match_cast could be the float32 tensor that eye_like was made from."""

    @I.ir_module
    class Cast:
        @R.function
        def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor("float64", ndim=2):
            eye = R.eye_like(x, dtype="float64")
            cast = R.match_cast(eye, R.Tensor("float64", ndim=2))
            return cast  # noqa: RET504  # a match_cast is no expression

    edits = (edit for reduction in REDUCTIONS for edit in reduction(Cast))
    edited = [made for edit in edits if (made := edit()) is not None]
    candidates = [candidate.mod for candidate in Search().candidates(Cast)]
    assert any(map(impossible_casts, edited))
    assert any(nodes(candidate, relax.MatchCast) for candidate in candidates)
    assert not any(map(impossible_casts, candidates))


def test_what_tvm_saves_but_does_not_load_is_no_candidate(mod: tvm.IRModule) -> None:
    def emptied(mod: tvm.IRModule) -> Iterator[Edit]:
        nothing = relax.const(np.zeros((2, 0), "int8"))
        yield lambda: mod.with_attr("unused", nothing)

    assert list(Search(reductions=(emptied,)).candidates(mod)) == []


def test_generated_modules_give_mostly_well_formed_candidates() -> None:
    mods = [example(ir_modules(), 11, index) for index in range(3)]
    candidates = [edit() for mod in mods for reduction in REDUCTIONS for edit in reduction(mod)]
    candidates = [candidate for candidate in candidates if candidate is not None]
    good = sum(flaw(candidate) is None for candidate in candidates)
    assert good >= len(candidates) * 0.9, f"{good} of {len(candidates)}"


def sizes(candidate: tvm.IRModule) -> tuple[int, int]:
    return len(candidate.functions), len(bindings_of(candidate))


def renamed(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    return mod.with_attr("name", name)


def ring(mod: tvm.IRModule) -> Iterator[Edit]:
    """Leads round in a circle: a to b, b to c, c to a."""
    names = "abc"
    name = str(mod.attrs["name"]) if mod.attrs and "name" in mod.attrs else "a"
    yield partial(renamed, mod, names[(names.index(name) + 1) % 3])


def test_reductions_that_lead_round_in_a_circle_come_to_an_end(mod: tvm.IRModule) -> None:
    start = renamed(mod, "a")
    names = [s.module for s in search(start, lambda c: True, Search(reductions=(ring,)))]
    assert len(names) == 2


def broken(mod: tvm.IRModule) -> Iterator[Edit]:
    def edit() -> tvm.IRModule:
        raise ZeroDivisionError("in the edit")

    yield edit
    yield partial(renamed, mod, "x")
    raise KeyError("in the list")


def test_an_edit_that_raises_is_reported_and_the_search_goes_on(mod: tvm.IRModule) -> None:
    reported: list[str] = []
    where = Search(reductions=(broken, *REDUCTIONS), report_fault=reported.append)
    last = list(search(mod, lambda c: "relax.sin" in ops_used(c.mod), where))[-1]
    assert len(bindings_of(tvm.ir.load_json(last.module))) == 1
    assert any("edit 0 of broken" in text and "ZeroDivisionError" in text for text in reported)
    assert any("KeyError: 'in the list'" in text for text in reported)


def test_an_edit_that_raises_ends_the_search_of_the_library(mod: tvm.IRModule) -> None:
    with pytest.raises(RuntimeError, match="edit 0 of broken"):
        minimize(mod, lambda m: True, reductions=(broken,))


def test_nothing_is_asked_about_twice(mod: tvm.IRModule) -> None:
    asked: list[str] = []

    def is_interesting(candidate: Candidate) -> bool:
        asked.append(candidate.module)
        return "relax.exp" in ops_used(candidate.mod)

    list(search(mod, is_interesting))
    assert len(asked) == len(set(asked))


def test_a_predicate_may_spoil_what_it_is_given(mod: tvm.IRModule) -> None:
    def spoils(candidate: tvm.IRModule) -> bool:
        kept = "relax.exp" in ops_used(candidate)
        for gvar in candidate.get_global_vars():
            candidate.update_func(gvar, mod["helper"])
        return kept

    small = minimize(mod, spoils)
    assert sizes(small) == (1, 1)


def test_an_ill_formed_module_may_stay_so_in_the_same_way(mod: tvm.IRModule) -> None:
    wrong = tvm.IRModule(
        {
            g: f.with_attr("global_symbol", "else") if g.name_hint == "main" else f
            for g, f in mod.functions_items()
        },
        attrs=mod.attrs,
    )
    problem = flaw(wrong)
    assert problem is not None
    small = minimize(wrong, lambda candidate: flaw(candidate) is not None)
    left = flaw(small)
    assert left is not None
    assert left.key == problem.key
    assert sizes(small) == (1, 0)

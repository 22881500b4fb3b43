"""Blocks that are made of what a pass names."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis.errors import InvalidArgument

from relaxfuzz.fuzz.campaign.block import regenerated
from relaxfuzz.fuzz.campaign.named import SHARE, numbers_near, recipe
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.fuzz.process.targets import Named, Origin, PassStats, Recipe, Target
from relaxfuzz.fuzz.session.unchanged import AT_LEAST, unchanged
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.stages import Stage
from relaxfuzz.generators.traits import Trait
from relaxfuzz.oracles.inspect import ops_used
from relaxfuzz.oracles.passcall import PassCall

OWN = PassCall("own()", factory="m:own")
SOFTMAX = Target("own", OWN, named=Named(("log", "nn.softmax"), (("nn.softmax", "log"),)))


def test_most_blocks_are_made_of_what_the_pass_names() -> None:
    recipes = [recipe([SOFTMAX], 1, number, table) for number in range(200)]
    made = [each for each in recipes if each is not None]
    assert abs(len(made) / 200 - SHARE) < 0.1
    ops = Counter(op for each in made for op in set(each.ops))
    assert ops["log"] + ops["nn.softmax"] > len(made)
    assert {"nn.softmax > log", "log > nn.softmax", "log > log"} <= ops.keys()
    assert any(op.startswith("nn.softmax > ") and op not in ops for op in ops) or len(ops) > 50
    assert recipes == [recipe([SOFTMAX], 1, number, table) for number in range(200)]
    assert recipes != [recipe([SOFTMAX], 2, number, table) for number in range(200)]


def test_who_changed_few_modules_gets_most_blocks() -> None:
    lost = Target("lost", named=Named(("cumsum",)))
    other = Target("other", named=Named(("topk",)))

    def share(changed: dict[str, int]) -> float:
        made = [recipe([lost, other], 1, number, table, changed) for number in range(100)]
        found = ["cumsum" in each.ops for each in made if each is not None]
        return sum(found) / len(found)

    assert 0.3 < share({}) < 0.7
    assert share({"other": 1000}) > 0.9


def test_operators_and_nodes_that_are_named_are_in_the_modules() -> None:
    named = Named(("topk",), (), (Trait.MATCH_CAST, Trait.IF))
    target = replace(SOFTMAX, named=named)
    made = [each for number in range(14) if (each := recipe([target], 3, number, table))]
    modules = [regenerated(Origin(3, index, Stage.RAW, each)) for index, each in enumerate(made)]
    assert sum("relax.topk" in ops_used(mod) for mod in modules) > 0.6 * len(modules)
    forced = [each for each in made if Trait.IF in each.forced]
    assert len(forced) >= 3
    assert not any(Trait.IF in each.disabled for each in made)


def test_numbers_alone_reach_loop_nests() -> None:
    target = replace(SOFTMAX, named=Named(numbers=(24.0,)))
    assert not target.named.usable
    drawn = Counter(numbers_near([target], 1, number) for number in range(100))
    assert drawn.keys() == {(), (24.0,)}
    assert drawn[24.0,] > drawn[()]
    assert numbers_near([Target("none")], 1, 0) == ()


def test_a_pass_may_avoid_what_it_names() -> None:
    named = Named((), (), (Trait.FUNCTION_CALLS, Trait.CALL_TIR_INPLACE))
    target = replace(SOFTMAX, named=named)
    made = [each for number in range(60) if (each := recipe([target], 1, number, table))]
    apart = [each for each in made if Trait.CALL_TIR_INPLACE in each.disabled]
    assert len([each for each in apart if Trait.FUNCTION_CALLS in each.forced]) >= 3
    together = [each for each in made if set(named.traits) <= set(each.forced)]
    assert len(together) >= len(made) / 3
    assert not any(set(each.forced) & set(each.disabled) for each in made)


def test_chains_have_neighbours_of_the_operators_and_what_these_need() -> None:
    target = replace(SOFTMAX, named=Named(("memory.ensure_zero_offset", "reshape")))
    made = [each for number in range(200) if (each := recipe([target], 1, number, table))]
    views = [
        each
        for each in made
        if any("memory.view" in op.split()[::2] for op in each.ops if " " in op)
    ]
    assert len(views) >= 3
    assert all(Trait.NO_LEGALIZE in each.forced for each in views)


@pytest.mark.parametrize("trait", [Trait.EQUAL_OPERANDS, Trait.UNIFORM_CONSTANTS])
def test_operators_stand_on_special_operands(trait: Trait) -> None:
    modules = ir_modules(ops=["subtract"], only=[], force=[trait])
    texts = [example(modules, 1, index).script() for index in range(20)]
    shown = "R.const(" if trait is Trait.UNIFORM_CONSTANTS else "R.subtract(x0, x0)"
    assert sum(shown in text for text in texts) >= 5


def test_functions_have_the_dtypes_of_the_pass() -> None:
    target = replace(SOFTMAX, named=replace(SOFTMAX.named, dtypes=("int64", "float16")))
    made = [each for number in range(40) if (each := recipe([target], 1, number, table))]
    assert {each.dtypes for each in made} == {(), ("int64", "float16")}
    modules = ir_modules(ops=["add"], only=[], dtypes=("int64", "float16"))
    texts = [example(modules, 1, index).script() for index in range(20)]
    assert sum('"int64"' in text for text in texts) >= 5
    assert sum('"float16"' in text for text in texts) >= 5
    with pytest.raises(InvalidArgument, match=r"'int46'\. Did you mean 'int64'"):
        ir_modules(dtypes=["int46"])


def test_sizes_and_constants_are_near_numbers_of_the_pass() -> None:
    target = replace(SOFTMAX, named=replace(SOFTMAX.named, numbers=(16, 2.5)))
    made = [each for number in range(40) if (each := recipe([target], 1, number, table))]
    assert {each.numbers for each in made} == {(), (16, 2.5)}
    modules = ir_modules(ops=["add"], only=[], force=[Trait.CONSTANTS], numbers=(16, 2.5))
    text = "".join(example(modules, 1, index).script() for index in range(240))
    assert all(f"({size}, " in text for size in (15, 16, 17, 32))
    assert all(f"R.const({value}, " in text for value in ("2.5", "16.0", "32.0"))
    origin = Origin(1, 2, Stage.RAW, Recipe(ops=("add",), numbers=(16,)))
    assert regenerated(origin).script() == regenerated(origin).script()
    other = replace(origin, recipe=Recipe(ops=("add",)))
    assert regenerated(origin).script() != regenerated(other).script()


def test_a_pass_that_changes_nothing_is_told() -> None:
    lost = Target("own", OWN, named=Named(("abs",), (), (Trait.IF,), ("relax.softmax",)))
    (found,) = unchanged([lost], {"own()": PassStats(checks=AT_LEAST)})
    assert found.sentence == (
        "own changed nothing in 50 checks: does it look for something that relaxfuzz does not "
        "make? Its code names abs, if, which modules had. relaxfuzz does not make relax.softmax. "
        "It was given modules of the family relax only; of others: "
        "--family tensorir, --family dlight, --family arith."
    )
    assert found.event["not_made"] == ["relax.softmax"]
    for stats in (
        PassStats(checks=AT_LEAST - 1),
        PassStats(checks=90, changed=1, acted=1),
        PassStats(),
    ):
        assert not list(unchanged([lost], {"own()": stats}))
    fold = Target("FoldBatchnormToConv2D", named=Named(("nn.conv2d", "nn.batch_norm")))
    did = {"removes what is not used": 40, "removes alias": 3}
    stats = {fold.label: PassStats(checks=90, changed=40, did=did)}
    (cleaned,) = unchanged([fold], stats)
    assert cleaned.sentence == (
        "FoldBatchnormToConv2D changed 40 modules in 90 checks, none of them in what it works on "
        "(nn.conv2d, nn.batch_norm): little of it was tested. It mostly removes what is not used, "
        "removes alias."
    )
    assert cleaned.event["changed"] == 40
    tidy = Target("DeadCodeElimination")
    assert not list(unchanged([tidy], {tidy.label: stats[fold.label]}))
    (other,) = unchanged([Target("FuseOps")], {"FuseOps": PassStats(checks=90)})
    assert other.sentence == "FuseOps changed nothing in 90 checks: little of it was tested."


def test_a_pass_that_names_dtypes_alone_gets_modules_of_them() -> None:
    target = Target("own", OWN, named=Named(dtypes=("bfloat16",)))
    made = [recipe([target], 1, number, table) for number in range(200)]
    blocks = [each for each in made if each is not None]
    assert len(blocks) > 0.6 * len(made)
    assert sum(each.dtypes == ("bfloat16",) for each in blocks) > 0.9 * len(blocks)
    assert not any(each.ops for each in blocks)

"""What is learned of passes, and what blocks are made of then."""

from __future__ import annotations

import json

import pytest

from relaxfuzz.fuzz.campaign import focus
from relaxfuzz.fuzz.campaign.draw import example
from relaxfuzz.fuzz.campaign.focus import Learned, horizon
from relaxfuzz.fuzz.process.block import ModuleDone
from relaxfuzz.generators.modules import ir_modules
from relaxfuzz.generators.ops import table
from relaxfuzz.oracles.inspect import ops_used


def learned(modules: int, changed: dict[int, tuple[str, ...]]) -> Learned:
    """A pass that was checked on so many modules; it changed these, made of these operators."""
    made = Learned()
    for index in range(modules):
        ops = changed.get(index, ("add", "exp"))
        made.see(ModuleDone(index, ops, {"P": index in changed, "Q": False}))
    return made


def test_a_block_depends_on_blocks_long_before_it() -> None:
    assert [horizon(n) for n in (0, 7)] == [0, 0]
    for number in range(focus.FIRST, 2000):
        known = horizon(number)
        assert number // 4 < known <= number // 2
        assert known & (known - 1) == 0


def test_what_changed_modules_have_in_common_is_learned() -> None:
    made = learned(100, {3: ("add", "nn.softplus"), 50: ("exp", "nn.softplus"), 60: ("abs",)})
    assert made.surest() == {"P": ("nn.softplus",)}


def test_nothing_is_learned_of_a_pass_that_changes_all() -> None:
    assert learned(4, dict.fromkeys(range(4), ("add", "exp"))).surest() == {}


def test_what_is_learned_can_be_written_down() -> None:
    made = learned(100, {3: ("add", "nn.softplus"), 50: ("exp", "nn.softplus"), 60: ("abs",)})
    restored = Learned.of(json.loads(json.dumps(made.plain())))
    assert restored == made
    assert restored.surest() == made.surest()


def test_some_blocks_are_made_of_what_matters() -> None:
    made = learned(100, {3: ("nn.softplus",), 50: ("nn.softplus",)}).surest()
    drawn = [focus.focus(made, 1, number, table) for number in range(100)]
    focused = [ops for ops in drawn if ops]
    assert 40 < len(focused) < 80
    for ops in focused:
        assert ops[0] == "nn.softplus"
        assert len(set(ops)) == len(ops) == 1 + focus.OTHERS
        assert set(ops) <= set(table)
    assert drawn == [focus.focus(made, 1, number, table) for number in range(100)]
    assert drawn != [focus.focus(made, 2, number, table) for number in range(100)]


def test_what_no_operator_of_the_table_makes_is_no_focus() -> None:
    found = {3: ("call_tir", "nn.softplus"), 50: ("call_tir", "nn.softplus")}
    made = learned(100, found).surest()
    assert set(made["P"]) == {"call_tir", "nn.softplus"}
    drawn = [ops for number in range(100) if (ops := focus.focus(made, 1, number, table))]
    assert drawn
    assert all("call_tir" not in ops and "nn.softplus" in ops for ops in drawn)


def test_nothing_known_means_everything() -> None:
    assert all(focus.focus({}, 1, number, table) == () for number in range(50))


@pytest.mark.parametrize("op", ["nn.softplus", "permute_dims"])
def test_a_module_of_few_operators_has_them_often(op: str) -> None:
    ops = (op, "add", "exp")
    mods = [example(ir_modules(ops=ops), 1, index) for index in range(20)]
    assert sum(f"relax.{op}" in ops_used(mod) for mod in mods) > 10

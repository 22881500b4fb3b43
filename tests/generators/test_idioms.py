"""Idioms: patterns as data, what comes out of them, and what stands between their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest
import tvm
import tvm_ffi
from tvm import relax

from relaxfuzz.compat import ir
from relaxfuzz.generators import functions, idioms
from relaxfuzz.generators.bindings.table import LINKS, links_between
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.idioms.building import OWN, Builder, Link
from relaxfuzz.generators.idioms.pattern import Leaf, Pattern, PatternNode, Tree, calls, parse, row
from relaxfuzz.generators.module_scope import ModuleScope
from relaxfuzz.generators.ops import table
from relaxfuzz.generators.traits import Trait

PLAIN = frozenset({Trait.NO_LEGALIZE, Trait.UNIT_DIMS, Trait.CONSTANTS, Trait.VDEVICES})
RICH = frozenset(Trait)
PATTERNS = [each for each in dict.fromkeys(idioms.usable(PLAIN)) if each.code is None]
DRAWS = 400
SLICE = tvm.ir.Op.get("relax.strided_slice")

Links = Callable[[], list[Link]]


def built(
    pattern: Pattern, seed: str, traits: frozenset[Trait] = PLAIN, links: bool = False
) -> tuple[Builder, relax.Function]:
    """A pattern in a function of its own."""
    random = Random(seed)
    module = ModuleScope(traits)
    module.vdevices = [ir.VDevice("llvm", 0, "global")]
    scope = functions.scope(Choices(random.randbytes(8)), module)
    scope.dataflow(True)
    ops = [table["negative"], table["add"]]
    between: Links = (lambda: links_between(scope, ops, [])) if links else list
    builder = Builder(Choices(random.randbytes(24)), scope, between)
    builder.emit(pattern)
    scope.close()
    result = scope.values[-1] if scope.values else scope.tensor(Choices(b""))
    func = functions.finish(scope, result.expr)
    whole = tvm.IRModule(
        module.functions | {relax.GlobalVar("main"): func},
        global_infos={"vdevice": module.vdevices},
    )
    assert relax.analysis.check_well_formed(whole), whole
    return builder, func


def bound(func: relax.Function) -> dict[relax.Var, relax.Expr]:
    return {b.var: b.value for block in func.body.blocks for b in block.bindings}


def made_of(tree: Tree, var: relax.Expr, values: dict[relax.Var, relax.Expr]) -> bool:
    """Whether the variable is what the pattern says, names of results aside."""
    if isinstance(tree, Leaf):
        return True
    value = values.get(var) if isinstance(var, relax.Var) else None
    if isinstance(value, relax.TupleGetItem):
        return made_of(tree, value.tuple_value, values)
    if isinstance(value, relax.Var):
        return made_of(tree, value, values)
    if not isinstance(value, tvm.ir.Call):
        return False
    operands = list(flat(value.args))
    name = str(getattr(value.op, "name", "")).removeprefix("relax.")
    if name == "maximum" and name not in tree.ops:  # keeps a divisor from being 0
        return any(made_of(tree, arg, values) for arg in operands)
    if name not in tree.ops:
        return False
    return all(any(made_of(each, arg, values) for arg in operands) for each in tree.operands)


def flat(args: object) -> Iterator[relax.Expr]:
    for arg in args:  # type: ignore[attr-defined]
        if isinstance(arg, relax.Tuple):
            yield from flat(arg.fields)
        else:
            yield arg


def test_every_pattern_comes_out_whole() -> None:
    never = []
    for idiom in PATTERNS:
        for draw in range(DRAWS):
            builder, func = built(idiom.pattern, f"{idiom.name} {draw}")
            values = bound(func)
            made = [
                any(made_of(step.tree, var, values) for var in values) for step in idiom.pattern
            ]
            if builder.whole and all(made):
                break
        else:
            never.append(idiom.name)
    assert not never


def test_everything_stands_between_calls_at_some_time() -> None:
    pattern = parse("unary(add(unary(matmul(X, W)), unary(Y)))", idioms.GROUPS)
    seen: set[str] = set()
    for draw in range(500):
        seen.update(built(pattern, f"links {draw}", RICH, links=True)[0].linked)
    wanted = {link.name for link in OWN} | {kind.emit.__name__ for kind in LINKS}
    assert seen == wanted - {"call_function"}  # which needs a function to call


def products(func: relax.Function) -> list[tvm.ir.Call]:
    values = [value for value in bound(func).values() if isinstance(value, tvm.ir.Call)]
    return [call for call in values if call.op == tvm.ir.Op.get("relax.matmul")]


@pytest.mark.parametrize(
    ("traits", "seen"),
    [
        ((), lambda call: call.attrs.out_dtype is not None),
        ((), lambda call: call.args[0].ty.ndim == 1),
        ((), lambda call: call.args[1].ty.ndim == 1),
        ((), lambda call: call.args[0].ty.ndim == 3),
        ((), lambda call: call.args[0].same_as(call.args[1])),
        ((), lambda call: isinstance(call.args[0], relax.DataflowVar)),  # the operands swapped
        ((Trait.SYMBOLIC_SHAPES,), lambda call: not isinstance(call.ty.shape[0], tvm.tirx.IntImm)),
        ((Trait.INCOMPLETE_TYPES,), lambda call: call.args[0].ty.shape is None),
    ],
)
def test_records_choose_what_the_pattern_leaves_open(
    traits: tuple[Trait, ...], seen: Callable[[tvm.ir.Call], bool]
) -> None:
    pattern = parse("nn.relu(add(matmul(X, permute_dims(W)), B))", idioms.GROUPS)
    for draw in range(300):
        func = built(pattern, f"open {draw}", PLAIN.union(traits))[1]
        if any(
            call.args[0].ty.ndim > 0 and call.ty.ndim > 0 and seen(call) for call in products(func)
        ):
            return
    pytest.fail("never in 300 draws")


def test_the_simplest_decisions_give_the_bare_pattern() -> None:
    for text in ("nn.relu(add(matmul(X, W), B))", "Y = split(X); add(Y[0], Y[1])"):
        module = ModuleScope(frozenset())
        scope = functions.scope(Choices(b""), module)
        builder = Builder(Choices(b""), scope)
        builder.emit(parse(text, {}))
        assert builder.whole
        assert not builder.linked


def test_reading() -> None:
    (first, second) = parse("Y = split(X)[1]; add|multiply(Y, both(W))", {"both": ("exp", "erf")})
    assert (first.name, first.tree.ops, first.tree.field) == ("Y", ("split",), 1)
    assert second.tree.ops == ("add", "multiply")
    assert second.tree.operands == (Leaf("Y"), PatternNode(("exp", "erf"), (Leaf("W"),), number=2))
    assert [call.number for call in calls((first, second))] == [0, 1, 2]


@pytest.mark.parametrize("text", ["X", "add(x)", "add(1)", "add(X, y=Y)"])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(ValueError, match="Expected"):
        parse(text, {})


def test_two_of_a_kind_sometimes_agree_in_all_but_their_first_operand() -> None:
    pattern, agreeing = row(["strided_slice", "strided_slice"]), 0
    for draw in range(DRAWS):
        _, func = built(pattern, f"alike {draw}")
        values = [getattr(each, "value", None) for each in func.body.blocks[0].bindings]
        slices = [each for each in values if getattr(each, "op", None) == SLICE]
        agreeing += len(slices) > 1 and all(
            tvm_ffi.structural_equal(one, other)
            for one, other in zip(slices[0].args[1:], slices[1].args[1:], strict=False)
        )
    assert 0.1 * DRAWS < agreeing < 0.5 * DRAWS

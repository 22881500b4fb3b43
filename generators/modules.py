"""`ir_modules`: the strategy for whole IRModules, valid by construction."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import tvm
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from tvm import relax

from ..compat import availability, ir
from . import corners, functions, idioms, names
from .bindings import Callee
from .choices import Choices
from .idioms.building import Builder
from .idioms.pattern import Pattern, beside, row
from .module_scope import ModuleScope
from .near import did_you_mean
from .ops import add, table
from .ops.record import Op
from .scope import DTYPES
from .seeds import Piece, PieceEdit, pieces_of
from .stages import Stage, advance
from .traits import CHANCE, IMPLIES, Trait

HEADER = 88
SPECIAL = 182
FUNCTION_HEADER = 28
BINDING = 24

RARE = 3
"""The weight of an operator that needs a rare trait; squared if it needs two, and so on."""

E = TypeVar("E", bound=enum.StrEnum)

Draws = tuple[bytes, bytes, list[tuple[bytes, list[bytes]]]]


def ir_modules(
    *,
    stage: Stage | str = Stage.RAW,
    force: Collection[Trait | str] = (),
    without: Collection[Trait | str] = (),
    only: Collection[Trait | str] | None = None,
    ops: Collection[str | Op | Sequence[str]] | None = None,
    numbers: Sequence[float] = (),
    dtypes: Sequence[str] = (),
    seeds: Sequence[tvm.IRModule | Piece] = (),
    edits: Collection[PieceEdit | str] | None = None,
    max_functions: int = 4,
    max_bindings: int = 14,
) -> st.SearchStrategy[tvm.IRModule]:
    """Strategy for well-formed IRModules.

    Args:
        stage: the stage of the modules in the default pipeline. TVM's own passes bring them there:
            an example for which one of them fails is discarded, and one that kills the process
            does kill it (campaigns use separate processes).
        force: traits that every module has.
        without: traits that no module has.
        only: traits that modules may have, besides those that are forced; None: all. With
            `only=()` a module is one function of tensors of known shapes.
        ops: names of the operators to use ("add", "nn.conv2d"); None: all of the table. In a chain,
            ("matmul", "add", "nn.relu"), each works on the result of the previous one; some chains
            end early. Operators side by side, "matmul & nn.relu", have one operand. The record of
            an operator of your own is added to the table.
        numbers: sizes and constants are often one of these, or next to one: numbers that code
            compares with something.
        seeds: pieces of real modules that functions are partly made of; a module is cut into
            pieces, and slimmed.
        edits: the kinds of edits that pieces get; None: all.
        dtypes: dtypes ("int64"), one of which most functions use; if empty, mostly float32.
        max_functions: bound on the Relax functions of free form; special ones (recursive,
            Composite, Codegen, Primitive) are added.
        max_bindings: bound on the draws for bindings in one function; some draws give two or
            three bindings.

    Raises:
        InvalidArgument: a trait, stage, operator or dtype is unknown, or missing in the installed
            TVM; or a bound is below 1.
    """
    forced, banned = _traits("force", force), _traits("without", without)
    forced |= {implied for trait in forced for implied in IMPLIES.get(trait, ())}
    if only is not None:
        allowed = _traits("only", only)
        allowed |= {implied for trait in allowed for implied in IMPLIES.get(trait, ())}
        banned |= frozenset(Trait) - allowed - forced
    off = availability.current()
    if gone := [trait for trait in Trait if trait in forced and trait in off.traits]:
        raise InvalidArgument(f"Trait {gone[0]} in force: {off.traits[gone[0]]}")
    if both := forced & banned:
        raise InvalidArgument(
            f"Expected a trait to be forced or left out, got {sorted(both)} in both"
        )
    if max_functions < 1 or max_bindings < 1:
        raise InvalidArgument(f"Expected bounds >= 1 but got {max_functions=}, {max_bindings=}")
    banned |= frozenset(map(Trait, off.traits))
    to = named("stage", stage, Stage)
    if to in off.stages:
        raise InvalidArgument(f"Stage {to}: {off.stages[to]}")
    chosen = _ops(ops)
    function = st.tuples(
        st.binary(min_size=FUNCTION_HEADER, max_size=FUNCTION_HEADER),
        st.lists(st.binary(min_size=BINDING, max_size=BINDING), min_size=1, max_size=max_bindings),
    )
    draws = st.tuples(
        st.binary(min_size=HEADER, max_size=HEADER),
        st.binary(min_size=SPECIAL, max_size=SPECIAL),
        st.lists(function, min_size=1, max_size=max_functions),
    )
    for dtype in dtypes:
        if dtype not in DTYPES:
            hint = did_you_mean(dtype, DTYPES) or f". Known: {', '.join(DTYPES)}."
            raise InvalidArgument(f"Expected dtypes of tensors in dtypes, got {dtype!r}{hint}")
    pieces = [
        piece
        for number, seed in enumerate(seeds)
        for piece in ([seed] if isinstance(seed, Piece) else pieces_of(seed, f"seed {number}"))
    ]
    shared = partial(
        ModuleScope,
        numbers=tuple(numbers),
        dtypes=tuple(dtypes),
        pieces=tuple(pieces),
        edits=tuple(PieceEdit)
        if edits is None
        else tuple(named("edit", each, PieceEdit) for each in edits),
    )
    modules = _modules(draws, to, forced, banned, chosen, shared)
    return modules if to is Stage.RAW else modules.filter(lambda mod: mod is not None)


@st.composite  # Hypothesis prints results of `map` as calls, with all the bytes
def _modules(
    draw: st.DrawFn,
    draws: st.SearchStrategy[Draws],
    to: Stage,
    force: frozenset[Trait],
    without: frozenset[Trait],
    ops: Sequence[Op],
    shared: Callable[[frozenset[Trait]], ModuleScope],
) -> tvm.IRModule | None:
    mod = build(draw(draws), force, without, ops, shared)
    return mod if to is Stage.RAW else _advanced(mod, to)


def build(
    draws: Draws,
    force: frozenset[Trait],
    without: frozenset[Trait],
    ops: Sequence[Op],
    shared: Callable[[frozenset[Trait]], ModuleScope] = ModuleScope,
) -> tvm.IRModule:
    """The module that these draws stand for.

    Args:
        shared: makes the state that the functions share, given the traits of the module.
    """
    header, special, bodies = draws
    c = Choices(header)
    traits = frozenset(
        trait
        for trait in Trait
        if ((CHANCE[trait] and c.flag(CHANCE[trait])) or trait in force) and trait not in without
    )
    traits -= {t for t, needs in IMPLIES.items() if not traits.issuperset(needs)}
    module = shared(traits)
    attrs: dict[str, object] = {}
    if Trait.SYSTEM_LIB_PREFIX in traits:
        attrs["system_lib_prefix"] = c.pick(("hello_", "lib_"))
    if Trait.VDEVICES in traits:
        module.vdevices = [ir.VDevice("llvm", i, "global") for i in range(1 + c.below(2))]
    naming = c.part(12)
    if Trait.PASS_NAMES in traits:
        names.rename(naming, module)
    usable = [op for op in ops if idioms.suits(op, traits)] or list(ops)
    usable = [op for op in usable for _ in range(RARE ** _rare_traits(op))]
    some = c.part(17)
    if len(usable) > 12 and some.flag():
        usable = [some.pick(usable) for _ in range(8)]
    if not traits.isdisjoint(corners.TRAITS):
        usable = list(map(corners.cornered, usable))

    callees = _special(Choices(special), module, usable)
    if Trait.SEVERAL_FUNCTIONS not in traits:
        bodies = bodies[:1]
    for number, (data, body) in enumerate(bodies):
        f = Choices(data)
        bounds = f.part(4)
        private = Trait.PRIVATE_FUNCTIONS in traits and number < len(bodies) - 1 and f.flag(0.6)
        name = "main" if number == len(bodies) - 1 and Trait.NO_MAIN not in traits else "func"
        func = functions.general(f, module, body, usable, callees)
        if Trait.NUM_INPUT in traits and not private and f.flag(0.8):
            func = func.with_attr("num_input", f.below(len(func.params) + 1))
        if Trait.BOUNDED_DIMS in traits:
            func = functions.bounded(bounds, func)
        callees.append(Callee.of(module.add(name, func, public=not private), func))
    infos = {"vdevice": module.vdevices} if module.vdevices else None
    return tvm.IRModule(module.functions, attrs=attrs or None, global_infos=infos)


def _rare_traits(op: Op) -> int:
    return (op.needs is not None) + (not op.legalizes)


def _special(c: Choices, module: ModuleScope, ops: Sequence[Op]) -> list[Callee]:
    """The functions of special form, first in the module; each kind has bytes of its own."""
    made: list[relax.GlobalVar] = []
    for trait, size, make in _SPECIAL:
        part = c.part(size)
        if trait in module.traits:
            made += make(part, module, ops)
    added = ((gvar, module.functions[gvar]) for gvar in made)
    return [Callee.of(gvar, func) for gvar, func in added if isinstance(func, relax.Function)]


Maker: TypeAlias = Callable[[Choices, ModuleScope, Sequence[Op]], list[relax.GlobalVar]]


def _of_own(make: Callable[[Choices, ModuleScope], list[relax.GlobalVar]]) -> Maker:
    """Functions with their own operators."""
    return lambda c, module, ops: make(c, module)


_SPECIAL: tuple[tuple[Trait, int, Maker], ...] = (
    (Trait.RECURSION, 3, _of_own(functions.recursive)),
    (Trait.HELPERS, 48, functions.helpers),
    (Trait.PRIMITIVE, 20, _of_own(functions.primitive)),
    (Trait.CODEGEN, 8, _of_own(functions.codegen)),
    (Trait.DIFFERENTIABLE, 37, _of_own(functions.differentiable)),
    (Trait.NUM_INPUT, 28, _of_own(functions.weighted)),
    (Trait.TRANSFORM_PARAMS, 10, _of_own(functions.transform_params)),
    (Trait.COMPOSITE, 10, _of_own(functions.composites)),
    (Trait.PUBLIC_PRIM_FUNCS, 3, _of_own(functions.entry)),
    (Trait.HELPERS, 12, _of_own(functions.tuple_helpers)),
    (Trait.EXTERN_FUNCS, 3, _of_own(functions.outside)),
)
"""Functions by the trait that requires them, with the number of bytes for their decisions."""


def _advanced(mod: tvm.IRModule, to: Stage) -> tvm.IRModule | None:
    """The module at the stage; None if a buggy pass on the way crashes or breaks it."""
    try:
        made = advance(mod, to)
    except Exception:
        return None
    return made if relax.analysis.check_well_formed(made) else None


def _traits(argument: str, names: Collection[Trait | str]) -> frozenset[Trait]:
    return frozenset(named(argument, name, Trait) for name in names)


def named(argument: str, name: str, kind: type[E]) -> E:
    """The member of this name.

    Raises:
        InvalidArgument: no member has this name.
    """
    try:
        return kind(name)
    except ValueError:
        known = [str(member.value) for member in kind]
        hint = did_you_mean(name, known) or f". Known: {', '.join(known)}."
        raise InvalidArgument(
            f"Expected a {kind.__name__.lower()} in {argument}, got {name!r}{hint}"
        ) from None


def _ops(names: Collection[str | Op | Sequence[str]] | None) -> list[Op]:
    if names is None:
        off = availability.current().ops
        return [op for name, op in table.items() if name not in off]
    if () in names or [] in names:
        raise InvalidArgument(f"Expected operators in a row but got none in ops={names!r}")
    return list(map(_chosen, names))


def _chosen(name: str | Op | Sequence[str]) -> Op:
    if isinstance(name, Op):
        return add(name)
    return _of_name(name) if isinstance(name, str) else _chain(name)


def _of_name(name: str) -> Op:
    ops = list(map(_op, name.split(" & ")))
    return ops[0] if len(ops) == 1 else _built(name, beside([op.name for op in ops]), ops)


def _op(name: str) -> Op:
    if name not in table:
        hint = did_you_mean(name, table)
        raise InvalidArgument(f"Expected operators of the table in ops, got {name!r}{hint}")
    if why := availability.current().ops.get(name):
        raise InvalidArgument(f"Operator {name} in ops: {why}")
    return table[name]


def _chain(names: Sequence[str]) -> Op:
    """The last operator of a chain; each operator takes the previous result if it fits."""
    ops = list(map(_op, names))
    return _built(" > ".join(names), row(names), ops)


def _built(name: str, pattern: Pattern, ops: Sequence[Op]) -> Op:
    return dataclasses.replace(
        ops[-1],
        name=name,
        build=lambda c, s: Builder(c, s).last(pattern),
        legalizes=all(op.legalizes for op in ops),
        pure=all(op.pure for op in ops),
        needs=next((op.needs for op in ops if op.needs is not None), None),
    )


# A function, because Hypothesis does not evaluate it while modules are imported.
st.register_type_strategy(tvm.IRModule, lambda _: ir_modules())

"""Which calls of composite functions belong together.

Groups are parts of one block. Between them, dependence must stay without cycles: a group becomes
one call, which needs all of its arguments before and gives all of its results after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import tvm
from tvm import relax
from tvm.error import InternalError
from tvm.ir import GlobalVar

from ...generators.rewrite.nodes import is_symbolic, variables
from ..inspect import attr, op_name


class Group:
    """Bindings that become one call of a function for this compiler; without one, they stay."""

    def __init__(self, compiler: str | None) -> None:
        self.compiler = compiler


Groups = Mapping[relax.Var, Group]
"""The group of each variable that a block binds."""

IN_PLACE = ("relax.call_tir_inplace", "relax.call_inplace_packed")
"""They change what others may read, so nothing moves past them."""


def compiler_of(mod: tvm.IRModule, binding: relax.Binding) -> str | None:
    """The compiler of the composite function that a binding calls; None where it calls none."""
    call = binding.value
    if not isinstance(call, relax.Call) or not isinstance(call.op, GlobalVar):
        return None
    composite = attr(mod[call.op], "Composite")
    return None if composite is None else str(composite).split(".", 1)[0]


def groups_of(mod: tvm.IRModule, block: relax.BindingBlock) -> Groups:
    """The groups of a block; outside of dataflow, where order matters, each binding is one."""
    if not isinstance(block, relax.DataflowBlock):
        return {binding.var: Group(compiler_of(mod, binding)) for binding in block.bindings}
    partition = _Partition(block)
    for binding in block.bindings:
        compiler = compiler_of(mod, binding)
        group = partition.add(binding.var, compiler)
        if compiler is not None:
            for source in partition.sources(binding.var):
                if source.compiler == compiler and not partition.entangled(source, group):
                    group = partition.join(source, group)
        else:
            repacked = partition.repacked(binding)
            if repacked is not None and not partition.entangled(repacked, group):
                partition.join(repacked, group)
    return partition.groups


def in_order(block: relax.BindingBlock, groups: Groups) -> Iterator[list[relax.Binding]]:
    """The bindings of each group, groups after those that they depend on.

    Raises:
        InternalError: a binding has no group.
    """
    needs = _needs(block)
    members: dict[Group, list[relax.Binding]] = {}
    for binding in block.bindings:
        if binding.var not in groups:
            raise InternalError(
                "Check failed: (it_group != obj2group_.end()) is false: "
                f"Variable {binding.var.name} could not be found in any group"
            )
        members.setdefault(groups[binding.var], []).append(binding)
    done: set[Group] = set()

    def visit(group: Group) -> Iterator[list[relax.Binding]]:
        if group in done:
            return
        done.add(group)
        for binding in members[group]:
            for needed in needs[binding.var]:
                yield from visit(groups[needed])
        yield members[group]

    for binding in block.bindings:
        group = groups[binding.var]
        # As late as possible: what the group depends on stands before it already, nearly always.
        if binding.same_as(members[group][-1]):
            yield from visit(group)


def _needs(block: relax.BindingBlock) -> dict[relax.Var, list[relax.Var]]:
    """Which bindings of the block must stand before each of its bindings."""
    needs: dict[relax.Var, list[relax.Var]] = {}
    defined: dict[relax.Var, relax.Var] = {}
    barrier: list[relax.Var] = []
    for binding in block.bindings:
        var = binding.var
        if op_name(binding.value) in IN_PLACE or not isinstance(block, relax.DataflowBlock):
            needs[var] = list(needs)
            barrier = [var]
        else:
            used = (defined[used] for used in variables(binding) if used in defined)
            needs[var] = list(dict.fromkeys([*used, *barrier]))
        # A match_cast defines symbolic variables besides.
        made = variables(binding) if isinstance(binding, relax.MatchCast) else [var]
        for each in made:
            defined.setdefault(each, var)
    return needs


class _Partition:
    """Groups of one dataflow block, and how they depend on each other."""

    def __init__(self, block: relax.DataflowBlock) -> None:
        self.groups: dict[relax.Var, Group] = {}
        self._members: dict[Group, list[relax.Var]] = {}
        self._needs = _needs(block)
        self._bindings: Sequence[relax.Binding] = list(block.bindings)

    def add(self, var: relax.Var, compiler: str | None) -> Group:
        """A group of its own."""
        group = self.groups[var] = Group(compiler)
        self._members[group] = [var]
        return group

    def join(self, group: Group, other: Group) -> Group:
        """Make one of two groups."""
        for var in self._members.pop(other) if other is not group else ():
            self.groups[var] = group
            self._members[group].append(var)
        return group

    def sources(self, var: relax.Var) -> list[Group]:
        """The groups that a binding depends on, in order of its arguments."""
        return list(dict.fromkeys(self.groups[needed] for needed in self._needs[var]))

    def entangled(self, a: Group, b: Group) -> bool:
        """One of them depends on the other through a third, which could stand nowhere."""
        return self._indirect(a, b) or self._indirect(b, a)

    def _indirect(self, group: Group, on: Group) -> bool:
        todo = [other for other in self._direct(group) if other is not on]
        seen = set(todo)
        while todo:
            for other in self._direct(todo.pop()):
                if other is on:
                    return True
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return False

    def _direct(self, group: Group) -> list[Group]:
        found = dict.fromkeys(g for var in self._members[group] for g in self.sources(var))
        return [other for other in found if other is not group]

    def repacked(self, binding: relax.Binding) -> Group | None:
        """The group whose values it takes apart or puts together, if nobody needs the tuples."""
        value = binding.value
        if isinstance(binding, relax.MatchCast) or not isinstance(
            value, relax.Tuple | relax.TupleGetItem | relax.Var
        ):
            return None
        operands = [var for var in variables(value) if not is_symbolic(var)]
        sources = {self.groups[var] for var in operands if var in self.groups}
        tuples = [v for v in (binding.var, *operands) if isinstance(v.ty, relax.TupleType)]
        if len(sources) != 1 or not all(map(self._only_taken_apart, tuples)):
            return None
        (source,) = sources
        return None if source.compiler is None else source

    def _only_taken_apart(self, var: relax.Var) -> bool:
        if not isinstance(var, relax.DataflowVar):
            return False
        for binding in self._bindings:
            value = binding.value
            if binding.var.same_as(var) or var not in variables(value):
                continue
            alias = isinstance(value, relax.Var) and self._only_taken_apart(binding.var)
            if not alias and not isinstance(value, relax.TupleGetItem):
                return False
        return True

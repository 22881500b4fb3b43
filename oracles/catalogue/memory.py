"""Contracts of the passes that plan, allocate and free memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...generators.stages import Stage
from ..contract import PassContract
from ..inspect import attr, bindings_of, calls_of, nodes, op_name, relax_functions
from ..passcall import PassCall
from .reading import sequences
from .spelling import always

ALLOC_TENSOR = "relax.builtin.alloc_tensor"
STORAGE = "relax.memory.alloc_storage"
TENSOR = "relax.memory.alloc_tensor"
KILLS = frozenset(("relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object"))
VIEWS = frozenset(("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"))


@dataclass(slots=True)
class _Flow:
    """Follows a function in the order of execution: what is killed, what shares a storage."""

    killed: set[relax.Var] = field(default_factory=set)
    """Variables killed on some path to here."""
    tensors: dict[relax.Var, list[relax.Var]] = field(default_factory=dict)
    """Tensors made of each storage so far; all but the last of them are overwritten."""
    roots: dict[relax.Var, frozenset[relax.Var]] = field(default_factory=dict)
    """The tensors whose memory a variable certainly holds."""
    overwritten: set[relax.Var] = field(default_factory=set)

    def sequence(self, seq: relax.SeqExpr) -> str | None:
        """The first problem in a sequence, on any path through it."""
        for block in seq.blocks:
            for binding in block.bindings:
                if (problem := self.binding(binding.var, binding.value)) is not None:
                    return problem
        return self.use(seq.body)

    def binding(self, var: relax.Var, value: relax.Expr) -> str | None:
        """The first problem in a binding."""
        if isinstance(value, relax.If):
            return self.use(value.cond) or self.branches(value)
        op = op_name(value)
        if op in KILLS:
            return self.kill(value.args[0], op)
        if isinstance(value, relax.Call):
            if (problem := self.use(value)) is not None:
                return problem
            if op == TENSOR:
                self.allocate(var, value.args[0])
            elif op in VIEWS:
                self.roots[var] = self.holds(value.args[0])
        elif isinstance(value, relax.Var | relax.Tuple):
            self.roots[var] = self.holds(value)
        return None

    def branches(self, node: relax.If) -> str | None:
        """The first problem in a branch; afterwards what happened in either has happened."""
        killed, overwritten = set(self.killed), set(self.overwritten)
        for branch in (node.true_branch, node.false_branch):
            flow = _Flow(set(killed), dict(self.tensors), dict(self.roots), set(overwritten))
            if (problem := flow.sequence(branch)) is not None:
                return problem
            self.killed |= flow.killed
            self.overwritten |= flow.overwritten
        return None

    def kill(self, var: relax.Expr, op: str) -> str | None:
        if var in self.killed:
            return f"{op} of a variable that is killed already"
        self.killed.add(var)
        return None

    def allocate(self, var: relax.Var, storage: relax.Expr) -> None:
        earlier = self.tensors.get(storage, [])
        self.overwritten.update(earlier)
        self.tensors[storage] = [*earlier, var]
        self.roots[var] = frozenset((var,))

    def holds(self, value: relax.Expr) -> frozenset[relax.Var]:
        leaves = nodes(value, relax.Var)
        return frozenset().union(*(self.roots.get(leaf, frozenset()) for leaf in leaves))

    def use(self, value: relax.Expr) -> str | None:
        what = op_name(value) or type(value).__name__
        for var in nodes(value, relax.Var):
            if var in self.killed:
                return f"a use in {what} of a variable that is killed already"
            if self.overwritten and not self.overwritten.isdisjoint(self.roots.get(var, ())):
                return f"a use in {what} of a tensor whose storage another tensor has taken"
        return None


def _flows(mod: tvm.IRModule) -> str | None:
    for _, func in relax_functions(mod):
        if (problem := _Flow().sequence(func.body)) is not None:
            return problem
    return None


def _planned(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: memory is reused "in order to reduce the total amount of allocated memory"; and
    never while its tensor is still in use.
    """
    if (problem := _flows(after)) is not None:
        return problem
    for _, func in relax_functions(after):
        sizes = {b.var: _static(b.value.args[0].values) for b in _bound(func, STORAGE)}
        for binding in _bound(func, TENSOR):
            size, room = _bytes(binding.value), sizes.get(binding.value.args[0])
            if size is not None and room is not None and size > room:
                return "a tensor is larger than its storage"
    bounded = any(attr(func, "tir_var_upper_bound") for _, func in relax_functions(before))
    if not bounded and _total(after) > _total(before):
        return "more memory is allocated than without planning"
    return None


def _bound(func: relax.Function, op: str) -> Iterator[relax.VarBinding]:
    return (b for b in bindings_of(func) if op_name(b.value) == op)


def _static(dims: Any) -> int | None:
    """The product of dimensions, or None where one is symbolic."""
    if all(isinstance(dim, tirx.IntImm) for dim in dims):
        return prod(int(dim) for dim in dims)
    return None


def _bytes(call: relax.Call) -> int | None:
    """Bytes of the tensor that a call allocates, or None where its shape is symbolic."""
    shape = call.ty.shape
    count = _static(shape.values) if isinstance(shape, relax.ShapeExpr) else None
    return None if count is None else count * int(call.ty.dtype.dtype.itemsize)


def _total(mod: tvm.IRModule) -> int:
    """Bytes of all storages and tensors of static size, every function run once."""
    storages = (_static(call.args[0].values) for call in calls_of(mod, STORAGE))
    tensors = (_bytes(call) for call in calls_of(mod, ALLOC_TENSOR))
    return sum(size or 0 for size in (*storages, *tensors))


def _alloc_lowered(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: replaces any remaining builtin.alloc_tensor; without any it has no effect."""
    if calls_of(after, ALLOC_TENSOR):
        return f"{ALLOC_TENSOR} is left"
    if not calls_of(before, ALLOC_TENSOR) and not tvm_ffi.structural_equal(before, after):
        return f"a module without {ALLOC_TENSOR} changes"
    return None


def _all_killed(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Drop all tensor/storage objects after last use"."""
    if (problem := _flows(after)) is not None:
        return problem
    for _, func in relax_functions(after):
        results = {var for seq in sequences(func.body) for var in nodes(seq.body, relax.Var)}
        killed = {c.args[0] for c in calls_of(func) if op_name(c) in KILLS}
        for op in (STORAGE, TENSOR):
            if any(b.var not in killed and b.var not in results for b in _bound(func, op)):
                return f"the result of {op} is never killed"
    return None


CONTRACTS: tuple[PassContract, ...] = (
    PassContract(
        name="StaticPlanBlockMemory",
        variants=always("StaticPlanBlockMemory()"),
        stages=(Stage.REWRITTEN, Stage.PLANNED),
        post=_planned,
        cost=0.3,
    ),
    PassContract(
        name="LowerAllocTensor",
        variants=always("LowerAllocTensor()"),
        stages=(Stage.PLANNED, Stage.REWRITTEN, Stage.ALLOCATED),
        post=_alloc_lowered,
        cost=0.1,
    ),
    PassContract(
        name="KillAfterLastUse",
        variants=always("KillAfterLastUse()"),
        stages=(Stage.ALLOCATED, Stage.PLANNED, Stage.KILLED),
        post=_all_killed,
        cost=0.3,
    ),
)

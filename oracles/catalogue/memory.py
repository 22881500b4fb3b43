"""Contracts of the passes that plan, allocate and free memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from ...generators.choices import Choices
from ...generators.stages import Stage
from ...generators.traits import Trait
from ..contract import Exemption, NormalForm, PassContract, Relation, Sought
from ..inspect import attr, bindings_of, calls_of, nodes, op_name, ops_used, relax_functions
from ..passcall import PassCall
from .common import for_all_operators

ALLOC_TENSOR = "relax.builtin.alloc_tensor"
STORAGE = "relax.memory.alloc_storage"
TENSOR = "relax.memory.alloc_tensor"
KILLS = frozenset(("relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object"))

RETAINING = frozenset(
    f"vm.builtin.{name}"
    for name in ("copy", "ensure_zero_offset", "make_tuple", "reshape", "tuple_getitem")
)
"""Packed functions of the runtime whose results lie in the memory of their arguments."""


def _retained(mod: tvm.IRModule, call: PassCall) -> bool:
    """True if the module uses a packed function that keeps the memory of its arguments."""
    return any(
        str(node.global_symbol) in RETAINING
        for _, func in relax_functions(mod)
        for node in nodes(func, relax.ExternFunc)
    )


def killed(mod: tvm.IRModule, call: PassCall | None = None) -> bool:
    """True if the module kills variables: later uses, right anywhere else, are then invalid."""
    return not KILLS.isdisjoint(ops_used(mod))


def _planned(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: memory is reused to allocate less of it."""
    bounded = any(attr(func, "tir_var_upper_bound") for _, func in relax_functions(before))
    if not bounded and _total(after) > _total(before):
        return "more memory is allocated than without planning"
    return None


def _bound(func: relax.Function, op: str) -> Iterator[relax.VarBinding]:
    return (b for b in bindings_of(func) if op_name(b.value) == op)


def _static(dims: Any) -> int | None:
    """The product of dimensions; None if one is symbolic."""
    if all(isinstance(dim, tirx.IntImm) for dim in dims):
        return prod(int(dim) for dim in dims)
    return None


def _bytes(ty: relax.TensorType) -> int | None:
    """Bytes of a tensor; None if its shape is symbolic."""
    count = _static(ty.shape.values) if isinstance(ty.shape, relax.ShapeExpr) else None
    return None if count is None else count * int(ty.dtype.dtype.itemsize)


def _total(mod: tvm.IRModule) -> int:
    """Bytes of all storages and tensors of static size, each function counted once."""
    storages = (_static(call.args[0].values) for call in calls_of(mod, STORAGE))
    tensors = (_bytes(call.ty) for call in calls_of(mod, ALLOC_TENSOR))
    return sum(size or 0 for size in (*storages, *tensors))


def _alloc_lowered(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: replaces any remaining builtin.alloc_tensor; without any, it has no effect."""
    if calls_of(after, ALLOC_TENSOR):
        return f"{ALLOC_TENSOR} is left"
    if not calls_of(before, ALLOC_TENSOR) and not tvm_ffi.structural_equal(before, after):
        return f"a module without {ALLOC_TENSOR} changes"
    return None


def _all_killed(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: "Drop all tensor/storage objects after last use"; unused objects have none."""
    for _, func in relax_functions(after):
        results = {var for seq in nodes(func, relax.SeqExpr) for var in nodes(seq.body, relax.Var)}
        killed = {c.args[0] for c in calls_of(func) if op_name(c) in KILLS}
        used = {var for b in bindings_of(func) for var in _operands(b.value)}
        allocated = {b.var for op in (STORAGE, TENSOR) for b in _bound(func, op)}
        if (allocated & used) - killed - results:
            return "an allocated tensor or storage is never killed"
    return None


def _operands(value: relax.Expr) -> list[relax.Var]:
    """The variables that a binding itself uses; nested bindings are visited on their own."""
    if isinstance(value, relax.Function):
        return []
    return nodes(value.cond if isinstance(value, relax.If) else value, relax.Var)


CUDA_GRAPH = "relax.backend.use_cuda_graph"


def _rewrite_cuda_graph(c: Choices, mod: tvm.IRModule) -> PassCall:
    return PassCall("RewriteCUDAGraph()", config={CUDA_GRAPH: True} if c.flag() else {})


def _graphs(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """The option `relax.backend.use_cuda_graph` is off unless set."""
    if not call.config.get(CUDA_GRAPH) and not tvm_ffi.structural_equal(before, after):
        return "a module changes although use_cuda_graph is off"
    return None


WORKSPACE = "WorkspaceSize"


def _asks_for_workspace(mod: tvm.IRModule) -> bool:
    return any(attr(func, WORKSPACE) is not None for _, func in relax_functions(mod))


RENAMED = Exemption(
    "functions",
    "a function that takes a workspace besides gets a name of its own",
    "tests/python/relax/test_transform_allocate_workspace.py: what was "
    "fused_relax_nn_attention_cutlass is fused_relax_nn_attention_cutlass1",
    when=lambda mod, call: _asks_for_workspace(mod),
)
"""The exemption of `AllocateWorkspace`, and of passes that run it inside."""


def _workspace_given(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """Docstring: a workspace big enough for all external functions is their last argument."""
    sizes = {g.name_hint: attr(func, WORKSPACE) for g, func in relax_functions(before)}
    largest = max((size for size in sizes.values() if size is not None), default=None)
    if largest is None:
        same = tvm_ffi.structural_equal(before, after)
        return None if same else "a module without WorkspaceSize changes"
    arity = {gvar.name_hint: len(func.params) for gvar, func in relax_functions(before)}
    for gvar, func in relax_functions(after):
        if attr(func, WORKSPACE) is not None:
            return "a function with WorkspaceSize is left"
        name = gvar.name_hint
        wanted = sizes.get(name) is not None
        if name in arity and len(func.params) != arity[name] + wanted:
            return "the parameters are not those before and the workspace"
        if wanted and _bytes(func.params[-1].ty) != largest:
            return "the workspace is not as large as the largest one asked for"
    return None


CONTRACTS: tuple[PassContract, ...] = (
    for_all_operators(
        name="StaticPlanBlockMemory",
        stages=(Stage.REWRITTEN, Stage.PLANNED),
        post=_planned,
        exemptions=(
            Exemption(
                "attributes",
                "relax.memory_plan_dynamic_func_output asks this pass for something, which it "
                "does: then the attribute goes",
                "tests/python/relax/test_transform_static_plan_block_memory.py, "
                "test_call_tir_dyn_plan_partially_dynamic: the expected module lacks it",
                when=lambda mod, call: any(
                    attr(func, "relax.memory_plan_dynamic_func_output") is not None
                    for _, func in relax_functions(mod)
                ),
            ),
            Exemption(
                "values",
                "memory that a packed function keeps a hold of is reused",
                "src/relax/transform/static_plan_block_memory.cc: 'It assumes external function "
                "calls via 'call_packed' do not retain memory from the arguments'",
                when=_retained,
            ),
        ),
    ),
    for_all_operators(
        name="LowerAllocTensor",
        stages=(Stage.PLANNED, Stage.REWRITTEN, Stage.ALLOCATED),
        post=_alloc_lowered,
        normal_form=NormalForm(
            "docstring: 'If no `R.builtin.alloc_tensor` are present, this pass has no effect', "
            "and it lowers all"
        ),
    ),
    for_all_operators(
        name="KillAfterLastUse",
        stages=(Stage.ALLOCATED, Stage.PLANNED, Stage.KILLED),
        post=_all_killed,
        inside=("CanonicalizeBindings",),
    ),
    for_all_operators(
        name="RewriteCUDAGraph",
        variants=_rewrite_cuda_graph,
        stages=(Stage.PLANNED, Stage.ALLOCATED),
        relation=Relation.LOWERED,
        post=_graphs,
        exemptions=(
            Exemption(
                "function-order",
                "numbers the regions of all functions as it meets them",
                "tests/python/relax/test_transform_rewrite_cuda_graph.py: the last argument of "
                "run_or_capture counts the regions of the module",
                when=lambda mod, call: bool(call.config.get(CUDA_GRAPH)),
            ),
        ),
    ),
    for_all_operators(
        name="AllocateWorkspace",
        stages=(Stage.RAW, Stage.FUSED),
        looks_for=Sought(_asks_for_workspace, traits=(Trait.CODEGEN, Trait.FUNCTION_CALLS)),
        relation=Relation.WORKSPACE,
        post=_workspace_given,
        exemptions=(RENAMED,),
    ),
)

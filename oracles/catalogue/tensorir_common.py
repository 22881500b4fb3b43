"""Helpers that contracts of TensorIR passes share: stages, questions about PrimFuncs, sources."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import tvm
from tvm import tirx

from ...compat import ir
from ...generators import stages
from ...generators.choices import Choices
from ...generators.stages import Stage
from ..contract import Requires, Sought, Variants
from ..inspect import attr, nodes, prim_funcs
from ..passcall import PassCall
from ..tensorir.sanitizer.races import conflicts
from ..tensorir.threads.limits import shared_memory
from .common import definition

_ON_DEVICES: Mapping[Stage, tuple[Stage, ...]] = {
    Stage.BOUND: (Stage.KERNELS, Stage.SCHEDULED),
    Stage.INIT_LOWERED: (Stage.REDUCTIONS_LOWERED,),
    Stage.OPAQUE: (Stage.THREADS_LIFTED,),
    Stage.MATCHES_LOWERED: (Stage.THREADS_UNIFIED,),
    Stage.BLOCKS_LOWERED: (Stage.DEVICE_BLOCKS_LOWERED,),
    Stage.FLATTENED: (Stage.DEVICE_FLATTENED,),
    Stage.LOOPS_LOWERED: (Stage.DEVICE_LOOPS_LOWERED,),
    Stage.ANNOTATED_ENTRY: (Stage.DEVICE_ENTRY, Stage.SYNCHRONIZED, Stage.ALLREDUCED),
    Stage.SPLIT: (Stage.DEVICE_SPLIT,),
}
"""The stages of kernels for a device that match these stages of functions for a CPU."""


def between(first: Stage, last: Stage) -> tuple[Stage, ...]:
    """The stages from one to another, both included, and the matching stages of kernels."""
    found = stages.between(first, last)
    return (*found, *(each for stage in found for each in _ON_DEVICES.get(stage, ())))


ANYWHERE = between(Stage.TENSORIR, Stage.SPLIT)
"""All stages before the packed API, after which functions take handles."""

WITHOUT_BLOCKS = between(Stage.BLOCKS_LOWERED, Stage.SPLIT)

FLAT = between(Stage.FLATTENED, Stage.SPLIT)

RAW = between(Stage.TENSORIR, Stage.BOUND)
"""Stages of passes that also get functions without blocks unchanged: the default pipeline of
`tvm/tirx/compilation_pipeline.py` has no CanonicalizeLoop."""

WITH_TARGET = between(Stage.BOUND, Stage.SPLIT)


def nodes_of(mod: tvm.IRModule, *kinds: type[Any]) -> list[Any]:
    """The nodes of these types in the PrimFuncs of the module."""
    return [node for _, func in prim_funcs(mod) for node in nodes(func, *kinds)]


def without_blocks(mod: tvm.IRModule) -> str | None:
    """The pass comes after LowerOpaqueBlock in the pipeline for functions with blocks."""
    return "blocks" if nodes_of(mod, ir.SBlock) else None


def with_target(mod: tvm.IRModule) -> str | None:
    """The pass refuses a function without a target: "Require the target attribute"."""
    bound = all(attr(func, "target") is not None for _, func in prim_funcs(mod))
    return None if bound else "a PrimFunc without a target: BindTarget comes first"


_OPERATIONS = (
    *(ir.Cast, ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Min, ir.Max),
    *(ir.LT, ir.LE, ir.GT, ir.GE, ir.EQ, ir.NE),
)


def computes_in(mod: tvm.IRModule, dtype: str) -> bool:
    """True if an operand or result of an operation has a dtype that begins like this."""
    operations = nodes_of(mod, *_OPERATIONS)
    operands = (op.value if isinstance(op, ir.Cast) else op.a for op in operations)
    return any(map(_is_of(dtype), (*operations, *operands)))


def legalized(dtype: str) -> Requires:
    """Require that the module neither computes in the dtype nor contains numbers of it.

    src/tirx/transform/unsupported_dtype_legalize.cc: "This pass needs to happens after
    FP8/BF16ComputeLegalizer"; otherwise operations would compute with the bits.
    """

    def requires(mod: tvm.IRModule) -> str | None:
        if computes_in(mod, dtype) or any(map(_is_of(dtype), nodes_of(mod, tirx.FloatImm))):
            return f"computes in {dtype}: the pass that legalizes that comes first"
        return packed(mod)

    return requires


def _is_of(dtype: str) -> Callable[[Any], bool]:
    def is_of(expr: Any) -> bool:
        return str(getattr(expr.ty, "dtype", expr.ty)).removeprefix("T.").startswith(dtype)

    return is_of


def dynamic_pieces(mod: tvm.IRModule) -> int:
    """The number of buffers in dynamic shared memory, for the kernel with the most."""
    return max(
        (
            sum(
                str(alloc.buffer.ty.storage_scope) == "shared.dyn"
                for alloc in nodes(stmt, ir.AllocBuffer)
            )
            for stmt in nodes_of(mod, ir.AttrStmt)
            if str(stmt.attr_key) == "thread_extent"
        ),
        default=0,
    )


def packed(mod: tvm.IRModule) -> str | None:
    """The pass refuses buffers as parameters: "must be called after MakePackedAPI"."""
    params = (param for _, func in prim_funcs(mod) for param in func.params)
    buffers = any(isinstance(param.ty, tirx.BufferType) for param in params)
    return "a parameter that is a buffer: MakePackedAPI comes first" if buffers else None


def accesses(stmt: Any) -> list[Any]:
    """The loads and stores in a statement."""
    return list(nodes(stmt, ir.TensorLoad, ir.BufferStore))


def meet(loop: ir.For, groups: Iterable[Sequence[Any]], own: Collection[int] = ()) -> bool:
    """True if accesses of two of these groups may conflict between iterations of the loop.

    Two accesses conflict if they touch the same element and one of them writes it.

    Args:
        groups: loads and stores in the loop.
        own: buffers private to each iteration, besides those that it allocates.
    """
    shared = conflicts(loop.body, [loop.loop_var], own)
    buffers = [{ir.tensor_of(each).__chandle__() for each in group} & shared for group in groups]
    return any(one & other for one, other in itertools.combinations(buffers, 2))


def has(kind: type[Any], which: Callable[[Any], bool] = lambda node: True) -> Sought:
    """The sought feature: a node of this kind for which `which` is true."""
    return Sought(lambda mod: any(map(which, nodes_of(mod, kind))))


def calls(name: str) -> Callable[[Any], bool]:
    """A predicate for calls of this operator."""
    return lambda node: getattr(node.op, "name", None) == name


def is_vectorized(loop: Any) -> bool:
    """True if the loop is vectorized."""
    return bool(loop.kind == ir.ForKind.VECTORIZED)


def under(expr: str, option: str, *settings: Mapping[str, bool | int]) -> Variants:
    """The pass, mostly plain, sometimes with one of these settings of its option; some are slow."""
    plain = PassCall(expr)
    others = [PassCall(expr, {option: dict(each)}) for each in settings]

    def variants(choices: Choices, mod: tvm.IRModule) -> PassCall:
        return choices.pick([plain] * 3 * len(others) + others)

    return variants


def outgrown(before: tvm.IRModule, after: tvm.IRModule) -> str | None:
    """Report a kernel whose shared memory exceeds the limit of its target only after the pass: it
    cannot be launched."""
    old = {str(gvar.name_hint): shared_memory(func) for gvar, func in prim_funcs(before)}
    for gvar, func in prim_funcs(after):
        target = attr(func, "target")
        limit = None if target is None else target.attrs.get("max_shared_memory_per_block")
        if limit is None or old.get(str(gvar.name_hint), math.inf) > int(limit):
            continue
        if shared_memory(func) > int(limit):
            return "a kernel outgrows the shared memory of its target"
    return None


def keeps_shared_memory(before: tvm.IRModule, after: tvm.IRModule, call: PassCall) -> str | None:
    """The target gives the limit."""
    return outgrown(before, after)


# Its source goes into reproducers.
def on_a_copy(pass_: tvm.transform.Pass) -> tvm.transform.Pass:
    """The pass on a module of its own, with the same functions."""

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        return pass_(tvm.IRModule(dict(mod.functions_items()), mod.attrs, mod.global_infos))

    return tvm.transform.module_pass(run, opt_level=0, name="on_a_copy")


PLAIN = 0.1
"""The chance that a pass known to mutate its input is given the module itself. It is small, since
such modules reveal nothing but that bug."""


def mostly_on_a_copy(choices: Choices, expr: str) -> PassCall:
    """The pass, mostly on a copy of the module."""
    if choices.flag(PLAIN):
        return PassCall(expr)
    return PassCall(f"on_a_copy({expr})", imports=("import tvm", definition(on_a_copy)))


def in_place(expr: str) -> Variants:
    """A pass known to mutate its input, mostly on a copy of the module."""
    return lambda choices, mod: mostly_on_a_copy(choices, expr)

"""The strategy `prim_funcs`: valid, varied, the same for the same seed, and shrinkable."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import hypothesis
import pytest
import tvm
from hypothesis import HealthCheck, settings
from tvm import tirx

from relaxfuzz.compat import ir
from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators import stages
from relaxfuzz.generators.families import DEFAULT, FAMILIES, family_of
from relaxfuzz.generators.prim_funcs import is_well_formed, prim_funcs
from relaxfuzz.generators.stages import STEPS, TENSORIR, Stage, last_step
from relaxfuzz.oracles.expected.expectations import Expectations
from relaxfuzz.oracles.inspect import entries, global_vars, is_public, nodes

COUNT = 400

Modules = Sequence[tvm.IRModule]
Functions = Sequence[tirx.PrimFunc]


@pytest.fixture(scope="module")
def modules() -> Modules:
    return [example(prim_funcs(), 0, index) for index in range(COUNT)]


@pytest.fixture(scope="module")
def functions(modules: Modules) -> Functions:
    return [func for mod in modules for _, func in entries(mod)]


def test_both_checkers_accept_every_module(modules: Modules, functions: Functions) -> None:
    assert all(map(is_well_formed, modules))
    assert all(tirx.analysis.verify_ssa(func) for func in functions)


def test_every_function_is_public_or_called(modules: Modules) -> None:
    for mod in modules:
        called = {gvar.name_hint for _, func in entries(mod) for gvar in global_vars(func)}
        private = {gvar.name_hint for gvar, func in mod.functions_items() if not is_public(func)}
        assert called == private
        assert len(private) < len(mod.functions)


def test_some_functions_call_others(modules: Modules) -> None:
    assert any(len(mod.functions) > len(list(entries(mod))) for mod in modules)


def test_calls_have_the_result_types_of_the_functions(modules: Modules) -> None:
    calls = [
        (mod[call.op], call)
        for mod in modules
        for _, func in entries(mod)
        for call in nodes(func, tvm.ir.Call)
        if isinstance(call.op, tvm.ir.GlobalVar)
    ]
    assert calls
    assert all(structural_equal(func.ret_type, call.ty) for func, call in calls)


def test_half_are_legalized(modules: Modules) -> None:
    written = [mod for mod in modules if "main" in {g.name_hint for g in mod.functions}]
    assert COUNT // 3 < len(written) < 2 * COUNT // 3


def test_nearly_all_are_defined_for_ordinary_arguments(modules: Modules) -> None:
    known = 0
    for mod in modules[:60]:
        expected = Expectations(mod)
        for gvar, _ in entries(mod):
            known += any(True for _ in expected.of(str(gvar.name_hint)))
    assert known > 0.9 * sum(len(mod.functions) for mod in modules[:60])


def _loop(kind: Any) -> Callable[[Any], bool]:
    return lambda loop: bool(loop.kind == kind)


@pytest.mark.parametrize(
    ("kind", "which"),
    [
        (ir.SBlock, lambda block: block.init is not None),
        (ir.SBlock, lambda block: block.init is not None and nodes(block.init, ir.TensorLoad)),
        (ir.SBlock, lambda block: any(v.iter_type == v.Opaque for v in block.iter_vars)),
        (ir.SBlock, lambda block: len(block.alloc_buffers) > 0),
        (ir.SBlock, lambda block: not block.iter_vars and block.name_hint != "root"),
        (ir.SBlockRealize, lambda realize: not isinstance(realize.predicate, tirx.IntImm)),
        (ir.SBlockRealize, lambda realize: _is_tiled(realize) and realize.block.init is not None),
        (ir.SBlockRealize, lambda realize: _is_tiled(realize) and realize.block.match_buffers),
        (ir.For, _loop(ir.ForKind.PARALLEL)),
        (ir.For, _loop(ir.ForKind.VECTORIZED)),
        (ir.For, _loop(ir.ForKind.UNROLLED)),
        (ir.For, lambda loop: len(loop.annotations) > 0),
        (ir.For, lambda loop: loop.step is not None),
        (ir.For, lambda loop: getattr(loop.extent, "value", 1) == 0),
        (ir.For, lambda loop: not isinstance(loop.extent, tirx.IntImm)),
        (ir.While, lambda node: True),
        (ir.IfThenElse, lambda node: True),
        (ir.Bind, lambda node: True),
        (ir.Let, lambda node: True),
        (ir.Select, lambda node: True),
        (ir.AllocBuffer, lambda node: True),
        (ir.DeclBuffer, lambda node: True),
        (ir.For, lambda loop: loop.step is not None and loop.kind == ir.ForKind.UNROLLED),
        (ir.For, lambda loop: not isinstance(loop.min, tirx.IntImm)),
        (tvm.ir.Call, lambda call: getattr(call.op, "name", "") == "tirx.break_loop"),
        (tvm.ir.Call, lambda call: getattr(call.op, "name", "") == "tirx.assume"),
        (ir.For, lambda loop: _is_guarded_tile(loop)),
        (ir.For, lambda loop: _does_something_once(loop)),
        (ir.SeqStmt, lambda seq: _decides_by_name(seq)),
        (ir.SeqStmt, lambda seq: _keeps_an_old_value(seq)),
        (ir.SeqStmt, lambda seq: _stores_again(seq)),
        (ir.SeqStmt, lambda seq: _exchanges(seq)),
        (ir.IfThenElse, lambda branch: _asks_again(branch)),
        (ir.SBlockRealize, lambda realize: _has_a_longer_loop(realize)),
        (ir.For, lambda loop: _is_shared_by_blocks(loop)),
        (ir.Cast, lambda cast: str(cast.ty.dtype) == "int8" and nodes(cast, ir.Min, ir.RShift)),
        (ir.Min, lambda least: getattr(least.b, "value", 0) == 2**31 - 1),
        (ir.For, lambda loop: "software_pipeline_stage" in loop.annotations),
        (ir.For, lambda loop: "software_pipeline_async_stages" in loop.annotations),
        (ir.SBlock, lambda block: "double_buffer_scope" in block.annotations),
        (ir.AttrStmt, lambda stmt: stmt.attr_key == "double_buffer_scope"),
        (ir.Ramp, lambda node: True),
        (ir.AssertStmt, lambda node: True),
        (ir.AllocBuffer, lambda alloc: alloc.buffer.ty.storage_scope == "global.vtcm"),
        (tvm.ir.Call, lambda call: getattr(call.op, "name", "") == "tirx.undef"),
        (tvm.ir.Call, lambda call: getattr(call.op, "name", "") == "tirx.call_pure_extern"),
        (tvm.ir.Call, lambda call: getattr(call.op, "name", "") == "tirx.call_extern"),
    ],
)
def test_modules_are_varied(
    functions: Functions, kind: type[Any], which: Callable[[Any], bool]
) -> None:
    assert any(which(node) for func in functions for node in nodes(func, kind))


def _is_tiled(realize: Any) -> bool:
    """A block with a predicate on one of its spatial axes, the loop of which is split."""
    used = set(nodes(realize.predicate, tirx.Var))
    bound = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    spatial = [value for axis, value in bound if axis.iter_type == axis.DataPar]
    return any(used.intersection(nodes(value, tirx.Var)) for value in spatial)


def _asks_again(branch: Any) -> bool:
    """The condition is asked again in the branch, after a store that may change it."""
    inner = nodes(branch.then_case, ir.IfThenElse)
    return any(structural_equal(branch.condition, each.condition) for each in inner)


def _has_a_longer_loop(realize: Any) -> bool:
    """A reduction whose predicate is about one loop, which is the value of an axis."""
    of = realize.predicate
    bound = any(isinstance(of, ir.LT) and of.a.same_as(value) for value in realize.iter_values)
    return bound and realize.block.init is not None


def _exchanges(seq: Any) -> bool:
    """Two loops, each of which reads the buffer that the other one stores into."""
    loops = [each for each in seq.seq if isinstance(each, ir.For)]
    read = [{hash(ir.tensor_of(load)) for load in nodes(each, ir.TensorLoad)} for each in loops]
    stored = [{hash(store.buffer) for store in nodes(each, ir.BufferStore)} for each in loops]
    pairs = itertools.pairwise(zip(read, stored, strict=True))
    return any(one[0] & other[1] and one[1] & other[0] for one, other in pairs)


def _stores_again(seq: Any) -> bool:
    """A loop stores to a buffer, and the next one does so under a condition."""
    for one, other in itertools.pairwise(seq.seq):
        if isinstance(one, ir.For) and isinstance(other, ir.For):
            stored = [store.buffer for store in nodes(one, ir.BufferStore)]
            guarded = [
                s for cond in nodes(other, ir.IfThenElse) for s in nodes(cond, ir.BufferStore)
            ]
            if any(store.buffer.same_as(buffer) for store in guarded for buffer in stored):
                return True
    return False


def test_steps_of_a_pipeline_read_nothing_that_later_ones_write(
    functions: Functions,
) -> None:
    """Its iterations overlap: none may need what another one has written."""
    for func in functions:
        for loop in nodes(func, ir.For):
            if "software_pipeline_stage" not in loop.annotations:
                continue
            for at, step in enumerate(loop.body.seq):
                read = {ir.tensor_of(load).__chandle__() for load in nodes(step, ir.TensorLoad)}
                stores = nodes(loop.body.seq[at:], ir.BufferStore)
                assert not read & {store.buffer.__chandle__() for store in stores}


def _is_guarded_tile(loop: Any) -> bool:
    """A loop around nothing but a guard on a multiple of one variable and another one."""
    guard = loop.body.condition if isinstance(loop.body, ir.IfThenElse) else None
    row = guard.a if isinstance(guard, ir.LT) else None
    return isinstance(row, ir.Add) and isinstance(row.a, ir.Mul)


def _does_something_once(loop: Any) -> bool:
    """The first statement is for an iteration that the loop may not have."""
    first = loop.body.seq[0] if isinstance(loop.body, ir.SeqStmt) else None
    once = first.condition if isinstance(first, ir.IfThenElse) else None
    if not isinstance(once, ir.EQ) or not once.a.same_as(loop.loop_var):
        return False
    number = getattr(once.b, "value", None)
    return number is not None and getattr(loop.extent, "value", 0) <= number


def _decides_by_name(seq: Any) -> bool:
    """A binding, and then a condition on it."""
    bind, after = seq.seq[0], seq.seq[1]
    if not isinstance(bind, ir.Bind) or not isinstance(after, ir.IfThenElse):
        return False
    return any(var.same_as(bind.var) for var in nodes(after.condition, tirx.Var))


def _keeps_an_old_value(seq: Any) -> bool:
    """An element is bound to a variable, and stored before the variable is used."""
    for bind, store, after in zip(seq.seq, seq.seq[1:], seq.seq[2:], strict=False):
        if not isinstance(bind, ir.Bind) or not isinstance(bind.value, ir.TensorLoad):
            continue
        stored = isinstance(store, ir.BufferStore) and store.buffer.same_as(
            ir.tensor_of(bind.value)
        )
        if stored and any(var.same_as(bind.var) for var in nodes(after, tirx.Var)):
            return True
    return False


def _is_shared_by_blocks(loop: Any) -> bool:
    """Several blocks of one loop that is no pipeline, one of which reads the row before."""
    if not isinstance(loop.body, ir.SeqStmt) or "software_pipeline_stage" in loop.annotations:
        return False
    blocks = nodes(loop, ir.SBlock)
    reads = nodes(loop, ir.TensorLoad)
    behind = any(isinstance(at, ir.Max) for load in reads for at in load.indices)
    return len(blocks) > 1 and behind


def test_some_functions_have_buffers_of_one_type_that_are_needed_one_after_the_other(
    functions: Functions,
) -> None:
    owned = [
        [str(buffer.ty) for block in nodes(func, ir.SBlock) for buffer in block.alloc_buffers]
        for func in functions
    ]
    assert any(len(types) > 2 and len(set(types)) == 1 for types in owned)


def test_some_functions_compute_in_a_wider_dtype_than_they_are_given(
    functions: Functions,
) -> None:
    wider = {("int32", "int64"), ("int8", "int32"), ("float16", "float32")}
    found = set()
    for func in functions:
        dtypes = [str(p.ty.dtype) for p in func.params if hasattr(p.ty, "shape")]
        if func.attrs["global_symbol"] in ("main", "other"):
            found.add((dtypes[0], dtypes[-1]))
    assert wider <= found


def has_vectors(func: tirx.PrimFunc) -> bool:
    return any("x" in str(p.ty.dtype) for p in func.params if hasattr(p.ty, "shape"))


def test_elements_of_few_functions_are_vectors(functions: Functions) -> None:
    found = [func for func in functions if has_vectors(func)]
    assert 2 <= len(found) < 0.05 * len(functions)
    types = {str(p.ty.dtype) for func in found for p in func.params if hasattr(p.ty, "shape")}
    assert types & {"float32x4", "float32x2", "int32x4", "int32x2", "float32x8", "int32x8"}
    # "In rare cases, vector index can be used to access a vector buffer. We leave this usage as
    # undefined": tvm-rfcs, 0063-clarifying-buffer-declaration-and-access.
    for func in found:
        for access in nodes(func, ir.TensorLoad, ir.BufferStore):
            if "x" in str(ir.tensor_of(access).ty.dtype):
                assert not nodes(list(access.indices), ir.Ramp)
        for loop in nodes(func, ir.For):
            if loop.kind == ir.ForKind.VECTORIZED:
                stored = [store.buffer for store in nodes(loop, ir.BufferStore)]
                assert not any("x" in str(buffer.ty.dtype) for buffer in stored)


def test_modules_have_the_dtype_that_is_asked_for() -> None:
    modules = [example(prim_funcs(dtypes=["int8"]), 0, index) for index in range(20)]
    types = [str(p.ty.dtype) for m in modules for _, f in entries(m) for p in f.params]
    assert types.count("int8") > len(types) / 5


def test_sizes_are_near_the_numbers_that_are_asked_for() -> None:
    def written(numbers: Sequence[float]) -> Functions:
        modules = [example(prim_funcs(numbers=numbers), 0, index) for index in range(40)]
        return [f for m in modules for _, f in entries(m) if f.attrs["global_symbol"] == "main"]

    def having(numbers: Sequence[float]) -> int:
        extents = [{str(loop.extent) for loop in nodes(f, ir.For)} for f in written(numbers)]
        return sum(bool(each & {"53", "54", "52", "106", "26"}) for each in extents)

    assert having(()) == 0
    assert having((53,)) >= 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_loop_nests_have_dtypes_that_modules_of_relax_have_not(dtype: str) -> None:
    modules = [example(prim_funcs(dtypes=[dtype]), 0, index) for index in range(30)]
    written = [f for m in modules for _, f in entries(m) if f.attrs["global_symbol"] == "main"]
    having = [f for f in written if any(str(p.ty.dtype).startswith(dtype) for p in f.params)]
    assert len(having) > 0.8 * len(written)
    assert all(map(is_well_formed, modules))
    if dtype.startswith("float8"):  # what is in one byte is computed in more
        operations = [op for f in having for op in nodes(f, ir.Add, ir.Mul, ir.Max, ir.Sub)]
        assert not any(str(op.ty.dtype).startswith("float8") for op in operations)


@pytest.mark.parametrize("stage", [Stage.OPAQUE, Stage.FLATTENED, Stage.SPLIT])
def test_modules_come_at_the_stage_that_is_asked_for(stage: Stage) -> None:
    for index in range(3):
        mod = example(prim_funcs(stage=stage), 0, index)
        assert is_well_formed(mod)
        assert all(func.attrs["target"].kind.name == "llvm" for _, func in entries(mod))


def test_modules_shrink() -> None:
    def reduces(mod: tvm.IRModule) -> bool:
        blocks = [b for _, f in entries(mod) for b in nodes(f, ir.SBlock)]
        return any(block.init is not None for block in blocks)

    small = hypothesis.find(
        prim_funcs(),
        reduces,
        random=Random(0),  # some searches end at a module with a second function
        settings=settings(
            max_examples=2000,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    (func,) = small.functions.values()
    assert len(nodes(func, ir.SBlock)) == 2  # the root's, too
    assert len(nodes(func, ir.BufferStore)) == 2


def test_each_stage_is_of_one_family() -> None:
    assert [stage for family in FAMILIES.values() for stage in family.stages] == list(Stage)
    assert family_of(Stage.RAW).name == DEFAULT
    assert family_of(Stage.FLATTENED).first is Stage.TENSORIR
    assert last_step(Stage.TENSORIR) is None
    assert last_step(Stage.OPAQUE) == STEPS[Stage.OPAQUE][-1]


def test_the_stages_of_tensorir_are_those_of_tvms_pipeline(modules: Modules) -> None:
    """In the order in which `tirx.build` runs them; between releases, passes change modules."""
    ran: list[str] = []

    @tvm.instrument.pass_instrument
    class Observer:
        def run_before_pass(self, mod: tvm.IRModule, info: Any) -> None:
            ran.append(str(info.name).rpartition(".")[2])

    with tvm.transform.PassContext(instruments=[Observer()]):
        tvm.compile(modules[0], "llvm")
    names = [stages.pass_of(name) for stage in TENSORIR for name in stages.steps(stage)]
    steps = [name.rpartition(".")[2] for name in names]
    left = iter(ran)
    assert all(name in left for name in steps), f"{steps} is no subsequence of {ran}"

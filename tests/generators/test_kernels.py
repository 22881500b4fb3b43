"""The strategy `kernels`: valid, bound to devices, and scheduled on the way."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
import tvm
from hypothesis.errors import InvalidArgument
from tvm import tirx

from relaxfuzz.compat import ir
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators import stages
from relaxfuzz.generators.prim_funcs import is_well_formed
from relaxfuzz.generators.prim_funcs.kernels import SIZES, TARGETS, kernels
from relaxfuzz.generators.prim_funcs.reductions import BYTES, reduction
from relaxfuzz.generators.prim_funcs.threads import kernel
from relaxfuzz.generators.prim_funcs.tiled import BYTES as TILED
from relaxfuzz.generators.prim_funcs.tiled import LOCAL_STAGE, tiled
from relaxfuzz.generators.stages import DEVICE, Stage
from relaxfuzz.oracles.inspect import attr, is_bound_to_threads, nodes, prim_funcs

Modules = Sequence[tvm.IRModule]
Functions = Sequence[tirx.PrimFunc]


@pytest.fixture(scope="module")
def modules() -> Modules:
    return [example(kernels(), 0, index) for index in range(60)]


@pytest.fixture(scope="module")
def functions(modules: Modules) -> Functions:
    return [func for mod in modules for _, func in prim_funcs(mod)]


@pytest.fixture(scope="module")
def written(modules: Modules) -> Functions:
    """With threads already."""
    return [func for mod in modules for gvar, func in prim_funcs(mod) if gvar.name_hint == "kernel"]


@pytest.fixture(scope="module")
def by_hand() -> Functions:
    """Products whose tiles are scheduled."""
    return [tiled(Random(seed).randbytes(TILED), SIZES) for seed in range(80)]


def test_every_module_is_well_formed_and_most_are_not_scheduled(
    modules: Modules, functions: Functions, written: Functions
) -> None:
    assert all(map(is_well_formed, modules))
    names = [gvar.name_hint for mod in modules for gvar, _ in prim_funcs(mod)]
    assert "tiled" in names
    assert sum(map(is_bound_to_threads, functions)) == len(written) + names.count("tiled")


def test_all_functions_of_a_module_are_for_one_device(modules: Modules) -> None:
    kinds = [
        {str(attr(func, "target").kind.name) for _, func in prim_funcs(mod)} for mod in modules
    ]
    devices = [each - {"llvm"} for each in kinds]  # what computes sizes runs on the host
    assert all(len(each) <= 1 for each in devices)
    assert set().union(*devices) == {str(target["kind"]) for target in TARGETS.values()}


def test_memory_of_a_warp_is_for_devices_whose_warps_are_that_large() -> None:
    # LowerWarpMemory refuses it for other devices, or its barriers order fewer threads.
    def count(name: str) -> int:
        mods = [example(kernels(target=name), 1, index) for index in range(60)]
        scopes = [
            str(alloc.buffer.ty.storage_scope)
            for mod in mods
            for _, func in prim_funcs(mod)
            for alloc in nodes(func, ir.AllocBuffer)
        ]
        return scopes.count("warp")

    assert count("cuda")
    assert count("rocm")
    assert not count("adreno")
    assert not count("metal")


def test_sizes_are_around_those_of_tiles(functions: Functions) -> None:
    dims = {
        dim.value
        for func in functions
        for loop in nodes(func, ir.For)
        if isinstance(dim := loop.extent, tirx.IntImm)
    }
    assert len(dims.intersection(SIZES)) > len(SIZES) // 2


def test_most_modules_come_to_the_end(modules: Modules) -> None:
    ends = 0
    for mod in modules[:12]:
        try:
            done = stages.advance(mod, Stage.DEVICE_SPLIT)
        except Exception:  # a bug of a pass on the way
            continue
        ends += is_well_formed(done)
    assert ends > 6


def test_some_are_written_with_their_threads_and_exchange_values(written: Functions) -> None:
    assert written
    scopes = {str(a.buffer.scope()) for func in written for a in nodes(func, ir.AllocBuffer)}
    assert any(scope.startswith("shared") for scope in scopes)
    assert all(is_bound_to_threads(func) for func in written)


def test_some_functions_have_several_kernels_of_different_extents() -> None:
    extents = [
        {int(loop.extent) for loop in nodes(func, ir.For) if _tag(loop) == "threadIdx.x"}
        for func in (kernel(Random(seed).randbytes(48)) for seed in range(20))
    ]
    assert any(len(each) > 1 for each in extents)


def test_extents_of_threads_are_near_the_numbers_that_are_asked_for() -> None:
    kernels_near = [kernel(Random(seed).randbytes(48), (96,)) for seed in range(40)]
    extents = {
        int(loop.extent)
        for func in kernels_near
        for loop in nodes(func, ir.For)
        if _tag(loop) == "threadIdx.x"
    }
    assert {95, 96, 97, 192} <= extents
    assert all(is_well_formed(tvm.IRModule({"kernel": func})) for func in kernels_near)


def _tag(loop: ir.For) -> str:
    return "" if loop.thread_binding is None else str(loop.thread_binding.thread_tag)


def test_reductions_add_up_in_a_wider_dtype_and_have_steps_around_them(
    modules: Modules,
) -> None:
    found = [reduction(Random(seed).randbytes(BYTES), SIZES) for seed in range(60)]
    assert all(is_well_formed(tvm.IRModule({"reduction": func})) for func in found)
    blocks = {len(nodes(func, ir.SBlock)) - 1 for func in found}
    assert blocks == {1, 2, 3}
    dtypes = {
        (str(ir.tensor_of(block.reads[0]).ty.dtype), str(block.body.buffer.ty.dtype))
        for func in found
        for block in nodes(func, ir.SBlock)
        if block.init is not None
    }
    assert {("float16", "float32"), ("int8", "int32")} <= dtypes
    assert any("reduction" in {str(g.name_hint) for g in mod.functions} for mod in modules)


def test_products_scheduled_by_hand_reach_every_feature(by_hand: Functions) -> None:
    assert all(is_well_formed(tvm.IRModule({"tiled": func})) for func in by_hand)
    assert all(is_bound_to_threads(func) for func in by_hand)
    loops = [loop for func in by_hand for loop in nodes(func, ir.For)]
    blocks = [block for func in by_hand for block in nodes(func, ir.SBlock)]
    notes = {str(note) for node in (*loops, *blocks) for note in node.annotations}
    assert notes >= {
        *("software_pipeline_stage", "software_pipeline_order", "software_pipeline_async_stages"),
        *("buffer_dim_align", "double_buffer_scope", LOCAL_STAGE),
    }
    assert {ir.ForKind.VECTORIZED, ir.ForKind.UNROLLED} <= {loop.kind for loop in loops}
    assert {"vthread.y", "threadIdx.y", "blockIdx.y"} <= {_tag(loop) for loop in loops}
    scopes = {str(made.scope()) for block in blocks for made in block.alloc_buffers}
    assert scopes == {"local", "shared", "shared.dyn"}


def test_scheduled_kernels_are_bound_to_threads() -> None:
    for index in range(4):
        mod = example(kernels(stage=Stage.SCHEDULED, target="cuda"), 0, index)
        assert all(is_bound_to_threads(func) for _, func in prim_funcs(mod))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": "cudda"}, "Expected a target among cuda"),
        ({"stage": Stage.RAW}, f"Expected a stage among {', '.join(DEVICE)}"),
        ({"stage": "schedulled"}, "Did you mean 'scheduled'"),
    ],
)
def test_what_is_refused_and_in_what_words(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        kernels(**settings)

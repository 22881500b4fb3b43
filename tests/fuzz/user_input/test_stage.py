"""The stages of a user's module, found from its functions."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, te

from relaxfuzz.fuzz.user_input.stage import parts_of
from relaxfuzz.generators.stages import Stage, advance, usable
from relaxfuzz.oracles.inspect import is_public, prim_funcs


def product() -> tvm.IRModule:
    a, b = (te.placeholder((4, 4), name=name) for name in "AB")
    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((4, 4), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    func = te.create_prim_func([a, b, c]).with_attr("global_symbol", "product")
    return tvm.IRModule({"product": func})


def softmax() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.softmax(x)))
    return builder.get()


def kernel() -> tvm.IRModule:
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_86"}, host="llvm")
    return tvm.tirx.transform.BindTarget(target)(product())


@pytest.mark.parametrize("stage", usable(Stage.TENSORIR))
def test_no_function_is_taken_for_one_that_has_come_further(stage: Stage) -> None:
    (part,) = parts_of(advance(product(), stage))
    found, *_ = part.stages
    order = usable(Stage.TENSORIR)
    assert order.index(found) <= order.index(stage)


@pytest.mark.parametrize("stage", usable(Stage.KERNELS))
def test_kernels_are_known_at_each_stage(stage: Stage) -> None:
    (part,) = parts_of(advance(kernel(), stage))
    (found,) = (each for each in part.stages if each in usable(Stage.KERNELS))
    order = usable(Stage.KERNELS)
    assert order.index(found) <= order.index(stage)


@pytest.mark.parametrize(
    "stage",
    [Stage.TENSORIR, Stage.BOUND, Stage.OPAQUE, Stage.BLOCKS_LOWERED, Stage.FLATTENED],
)
def test_what_shows_is_found(stage: Stage) -> None:
    (part,) = parts_of(advance(product(), stage))
    # An operator without a target may be for a device, too.
    more = (Stage.KERNELS,) if stage is Stage.TENSORIR else ()
    assert part.stages == (stage, *more)


@pytest.mark.parametrize("stage", [Stage.KERNELS, Stage.SCHEDULED, Stage.DEVICE_FLATTENED])
def test_what_shows_is_found_of_kernels(stage: Stage) -> None:
    (part,) = parts_of(advance(kernel(), stage))
    assert part.stages == (stage,)


def test_prim_funcs_beside_relax_functions_are_a_part_of_their_own() -> None:
    mod = relax.transform.LegalizeOps()(softmax())
    whole, kernels = parts_of(mod)
    assert (whole.mod, whole.stages) == (mod, (Stage.RAW,))
    assert kernels.stages == (Stage.TENSORIR, Stage.KERNELS)
    assert len(kernels.mod.functions) == sum(1 for _ in prim_funcs(mod)) > 0
    assert all(is_public(func) for _, func in prim_funcs(kernels.mod))


def test_host_and_device_functions_are_of_two_families() -> None:
    mod = product()
    mod.update(tvm.IRModule({"kernel": kernel()["product"].with_attr("global_symbol", "kernel")}))
    (part,) = parts_of(mod)
    assert set(part.stages) == {Stage.TENSORIR, Stage.KERNELS}

"""The steps of pipelines, against the pipelines themselves."""

from __future__ import annotations

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.oracles import pipelines
from relaxfuzz.oracles.pipelines import PIPELINES, UnknownStep, steps, steps_on


@I.ir_module
class Two:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor(
        (3, 2), "float32"
    ):
        with R.dataflow():
            a = R.add(x, y)
            b = R.exp(a)
            c = R.sort(b, axis=0)
            d = R.permute_dims(c)
            R.output(d)
        return d

    @R.function
    def other(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n * 4",), "float32"):
        return R.flatten(R.multiply(x, x))


@pytest.mark.parametrize("name", PIPELINES)
def test_steps_do_what_the_pipeline_does(name: str) -> None:
    mod = Two
    if name == "zero":  # has no step for `sort`
        mod = relax.backend.DispatchSortScan()
        with tvm.target.Target("llvm"):
            mod = mod(Two)
    whole = pipelines.run(name, mod)
    for step in steps(name):
        mod = step.run(mod)
    assert tvm_ffi.structural_equal(mod, whole, map_free_vars=True)


@I.ir_module
class Local:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def twice(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            z: R.Tensor((2,), "float32") = R.add(y, y)
            return z

        return twice(x)


def test_local_functions_are_lifted_first() -> None:
    assert steps_on(Local, "default") == (pipelines.LIFTS, *steps("default"))
    assert steps_on(Two, "default") == steps("default")
    assert steps_on(Local, pipelines.BUILT_KERNELS) == steps(pipelines.BUILT_KERNELS)


def test_a_step_that_is_no_public_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    @tvm.transform.module_pass(opt_level=0, name="Secret")
    def secret(mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        return mod

    @tvm.transform.module_pass(opt_level=0, name="outer")
    def outer(mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        return secret(mod)

    monkeypatch.setitem(PIPELINES, "outer", lambda: outer)  # type: ignore[misc]
    with pytest.raises(UnknownStep, match="Secret"):
        steps("outer")

"""TVM's functions that hand parts of a module to a library are passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.compat.structural import structural_equal
from relaxfuzz.oracles.catalogue import catalogue, plain_call
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.identify import identity_of
from relaxfuzz.oracles.passcall import parse, partitions
from relaxfuzz.oracles.violation import Case


def model(body: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> tvm.IRModule:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, "float16"))
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit_output(body(builder, x))
        builder.emit_func_output(made)
    return builder.finalize()


def product() -> tvm.IRModule:
    return model(lambda b, x: relax.op.nn.relu(b.emit(relax.op.matmul(x, x))), (4, 4))


def attention() -> tvm.IRModule:
    """Attention of a model: its three operands are parts of one product."""

    def body(b: Any, x: Any) -> Any:
        parts = b.emit(relax.op.split(x, 3, axis=2))
        each = [b.emit(relax.TupleGetItem(parts, number)) for number in range(3)]
        return relax.op.nn.attention(*(b.emit(relax.op.reshape(e, (2, 8, 4, 16))) for e in each))

    return model(body, (2, 8, 192))


@pytest.mark.parametrize("name", partitions())
def test_each_has_a_contract_with_its_parts(name: str) -> None:
    assert not catalogue[name].universal_only
    assert "FuseOpsByPattern" in catalogue[name].inside
    assert plain_call(name).build().info.name == name


@pytest.mark.parametrize(
    "spelling", ["partition_for_cublas", "partition_for_cublas(bind_constants=True)"]
)
def test_it_runs_and_its_source_does_the_same(spelling: str) -> None:
    call = parse(spelling)
    after = call.run(product())
    assert any("Codegen" in func.attrs for func in after.functions.values())
    names: dict[str, Any] = {}
    imports, made = call.source()
    exec("\n".join((*imports, f"made = {made}")), names)
    assert structural_equal(names["made"](product()), after)


def test_a_right_one_is_clean_and_a_faulty_one_is_found() -> None:
    assert not list(check(Case(product(), (parse("partition_for_cublas"),))))
    found = list(check(Case(attention(), (parse("partition_for_cudnn"),))))
    assert [each.oracle for each in found] == ["crash"]
    assert "T.float16" in str(found[0])


@I.ir_module
class Partitioned:
    """A function that another pass has partitioned, and that asks for a workspace."""

    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        return x

    @R.function
    def partitioned(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
        R.func_attr({"Codegen": "dnnl", "WorkspaceSize": 64})

        @R.function
        def composite(y: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
            R.func_attr({"Composite": "dnnl.relu"})
            with R.dataflow():
                z = R.negative(y)
                R.output(z)
            return z

        return x


def test_no_workspace_is_expected_of_one_that_allocates_none() -> None:
    case = Case(Partitioned, (parse("partition_for_coreml"),))
    assert check(case, oracles=["crash", "evaluated"]) == []


def test_the_pass_that_runs_when_it_raises_is_blamed() -> None:
    mod = product()
    call = parse("partition_for_tensorrt")
    renamed = tvm.IRModule({"other": mod["main"].with_attr("global_symbol", "other")})
    (found,) = check(Case(renamed, (call,)), oracles=["crash"])
    assert identity_of(found, (call,)).blamed == ("MergeCompositeFunctions",)
    call = parse("partition_for_cudnn")  # it raises itself
    (found,) = check(Case(attention(), (call,)), oracles=["crash"])
    assert identity_of(found, (call,)).blamed == ("partition_for_cudnn",)

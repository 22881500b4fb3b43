"""Who is blamed for another type: the pass, or the type inference of an operator."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat import ir
from relaxfuzz.oracles.catalogue import catalogue
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.contract import PassContract
from relaxfuzz.oracles.pass_runs import Outcome, PassRuns
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.structural import interface
from relaxfuzz.oracles.violation import Case


@I.ir_module
class Known:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        y = R.negative(x)
        return R.cumprod(y)


@I.ir_module
class LessKnown:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        y: R.Tensor(ndim=2, dtype="float32") = R.negative(x)
        return R.cumprod(y)


@I.ir_module
class OtherAttributes:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        y = R.negative(x)
        return R.cumprod(y, dtype="float64")


@I.ir_module
class OtherOperand:
    @R.function
    def main(x: R.Tensor((3, 2), "float32")):
        y = R.concat([x, x], axis=1)
        return R.cumprod(y)


@pytest.mark.parametrize(
    ("after", "blamed"), [(LessKnown, "relax.cumprod"), (OtherAttributes, ""), (OtherOperand, "")]
)
def test_an_operator_is_blamed_for_what_is_inferred_of_less(
    after: tvm.IRModule, blamed: str
) -> None:
    call = PassCall("ToNonDataflow()")
    runs = PassRuns(Known, (call,), PassContract(name=call.name), seen=Outcome(after))
    found = interface.signature(runs)
    assert found is not None
    assert found.pass_name == blamed


def returning(*shapes: list[relax.Expr] | None) -> relax.Function:
    """A function whose result is a tuple of tensors of rank 1."""
    fields = [
        relax.TensorType(dtype="float32", ndim=1)
        if shape is None
        else relax.TensorType(shape, "float32")
        for shape in shapes
    ]
    return relax.Function.create_empty([], relax.TupleType(fields), True)


def test_each_field_of_a_result_may_say_the_same_or_more() -> None:
    """One field is written in another way, of the other one more is known."""
    n = tirx.Var("n", "int64")
    limited = tirx.max(n, tirx.const(0, "int64"))
    vague, precise = returning([limited], None), returning([n], [n])
    assert interface.contradiction(vague, precise) is None
    assert interface.contradiction(precise, vague) == interface.LESS_KNOWN


def test_only_kernels_that_the_host_launches_may_be_added() -> None:
    @T.prim_func(s_tir=True)
    def on_threads(A: T.Buffer((32,), "float32")):
        T.func_attr({"global_symbol": "on_threads"})
        tx = T.launch_thread("threadIdx.x", 32)
        A[tx] = T.float32(0)

    mod = tirx.transform.BindTarget(tvm.target.Target({"kind": "vulkan"}, host="llvm"))(
        tvm.IRModule({"on_threads": on_threads})
    )
    call = PassCall("tirx.transform.SplitHostDevice()")
    assert len(call.build()(tvm.IRModule(dict(mod.functions_items()))).functions) == 2
    assert check(Case(mod, (call,)), oracles=["functions"]) == []
    after = mod.clone()
    after["added"] = on_threads.with_attr("global_symbol", "added")
    runs = PassRuns(mod, (call,), PassContract(name="adds"), seen=Outcome(after))
    found = interface.functions(runs)
    assert found is not None
    assert "a public one is added" in found.title


@I.ir_module
class Two:
    @R.function
    def main(x: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 1})
        return R.add(x, w)

    @R.function
    def other(x: R.Tensor((3,), "float32")):
        return R.negative(x)


@pytest.mark.parametrize(
    ("pure", "dtype", "wrong"),
    [
        (True, "float32", None),
        (False, "float32", interface.IMPURE),
        (True, "int32", "the result of a public function has another type"),
    ],
)
def test_a_pass_that_takes_parameters_away_leaves_the_rest(
    pure: bool, dtype: str, wrong: str | None
) -> None:
    call = PassCall("BindParams('main', {'w': np.ones(3, 'float32')})")
    after = call.run(Two)
    main = after["main"]
    after["main"] = relax.Function(
        main.params, main.body, relax.TensorType((3,), dtype), pure, main.attrs
    )
    found = interface.signature(
        PassRuns(Two, (call,), catalogue["BindParams"], seen=Outcome(after))
    )
    assert (None if found is None else found.key[0]) == wrong


def test_less_is_known_of_a_result_only_where_dimensions_came_from_parameters() -> None:
    call = PassCall("BindParams('main', {'w': np.ones(3, 'float32')})")
    after = call.run(Two)
    main, vague = after["main"], relax.TensorType(dtype="float32", ndim=1)
    ty = relax.FuncType([param.ty for param in main.params], vague)
    after["main"] = ir.with_fields(main, ret_ty=vague, ty=ty)
    found = interface.signature(
        PassRuns(Two, (call,), catalogue["BindParams"], seen=Outcome(after))
    )
    assert found is not None
    assert found.title == interface.LESS_KNOWN


def weighted(place: int) -> tvm.IRModule:
    """A function whose result has the size of its input, or of its weight."""
    sizes = [tirx.Var(name, "int64") for name in "nm"]
    x, w = (
        relax.Var(name, relax.TensorType([size], "float32"))
        for name, size in zip("xw", sizes, strict=True)
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w], attrs={"num_input": 1}):
        with builder.dataflow():
            out = builder.emit_output(relax.op.exp((x, w)[place]))
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.parametrize(("place", "reported"), [(0, True), (1, False)])
def test_only_the_size_of_a_parameter_that_is_gone_is_no_longer_known(
    place: int, reported: bool
) -> None:
    mod, call = weighted(place), PassCall("LazyGetInput()")
    after = call.run(mod)
    main, vague = after["main"], relax.TensorType(dtype="float32", ndim=1)
    ty = relax.FuncType([param.ty for param in main.params], vague)
    after["main"] = ir.with_fields(main, ret_ty=vague, ty=ty)
    runs = PassRuns(mod, (call,), catalogue["LazyGetInput"], seen=Outcome(after))
    found = interface.signature(runs)
    assert (found is not None and found.title == interface.LESS_KNOWN) is reported


def private(noalias: bool, *, twice: bool) -> tvm.IRModule:
    """A private PrimFunc that may promise that its buffers do not alias."""

    @T.prim_func(s_tir=True, private=True)
    def kernel(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
        for i in range(3):
            B[i] = A[i] * T.float32(2)

    @T.prim_func(s_tir=True, private=True)
    def changed(A: T.Buffer((3,), "float32"), B: T.Buffer((3,), "float32")):
        for i in range(3):
            B[i] = A[i] + A[i]

    func = changed if twice else kernel
    return tvm.IRModule({"kernel": func.with_attr("tirx.noalias", True) if noalias else func})


@pytest.mark.parametrize(("twice", "reported"), [(False, True), (True, False)])
def test_a_private_function_that_stays_keeps_its_attributes(twice: bool, reported: bool) -> None:
    """A pass that makes another function may give it other attributes."""
    runs = PassRuns(
        private(True, twice=False),
        (PassCall("ToNonDataflow()"),),
        PassContract(name="loses"),
        seen=Outcome(private(False, twice=twice)),
    )
    found = interface.attributes(runs)
    assert (found is not None) == reported
    assert found is None or found.key == ("an attribute of a private PrimFunc is lost",)

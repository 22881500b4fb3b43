"""A trigger is true for the module that shows its known, and false for one that does not."""

from __future__ import annotations

import runpy

import pytest
import tvm
from tvm import relax
from tvm.script import tirx as T

from relaxfuzz.corpus.knowns import Known, knowns
from relaxfuzz.corpus.triggers import TRIGGERS

TRIGGERED = [known for known in knowns() if known.trigger is not None]


@pytest.mark.parametrize("known", TRIGGERED, ids=lambda known: known.name)
def test_it_is_true_for_the_reproducer(known: Known) -> None:
    assert known.reproducer is not None
    assert known.trigger is not None
    assert TRIGGERS[known.trigger](runpy.run_path(str(known.reproducer))["mod"])


@pytest.mark.parametrize("name", TRIGGERS)
def test_it_is_false_for_a_plain_module(name: str) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    w = relax.Var("w", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x, w], attrs={"num_input": 1}):
        builder.emit_func_output(builder.emit(relax.op.add(x, w)))
    assert not TRIGGERS[name](builder.get())


def test_a_constant_that_is_returned_is_static() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(relax.const(1.0)))
    mod = builder.get()
    assert TRIGGERS["returns_what_is_static"](mod)
    assert not TRIGGERS["returns_a_weight"](mod)


def images() -> tvm.IRModule:
    """Convolutions, pooling and resizing as frontends give them."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 4, 8, 8), "float32"))
    w = relax.Var("w", relax.TensorType((4, 4, 3, 3), "float32"))
    with builder.function("main", [x, w]):
        y = builder.emit(relax.op.nn.conv2d(x, w, strides=2, padding=(1, 1)))
        y = builder.emit(relax.op.nn.max_pool2d(y, pool_size=2, padding=(1, 1, 1, 1)))
        y = builder.emit(relax.op.nn.adaptive_avg_pool2d(y, output_size=2))
        y = builder.emit(
            relax.op.image.resize2d(
                y, (3, 3), layout="NCHW", coordinate_transformation_mode="align_corners"
            )
        )
        builder.emit_func_output(y)
    return builder.get()


@pytest.mark.parametrize("name", ["resizes_to_one", "has_lists_of_other_lengths"])
def test_usual_attributes_trigger_nothing(name: str) -> None:
    assert not TRIGGERS[name](images())


@pytest.mark.parametrize(("variances", "holds"), [([0.1, 0.1, 0.2, 0.2], False), ([0.1], True)])
def test_variances_are_four(variances: list[float], holds: bool) -> None:
    """A function of TVM's makes no such call, but a pass or a file may."""
    builder = relax.BlockBuilder()
    shapes = {"scores": (1, 2, 3), "boxes": (1, 12), "anchors": (1, 3, 4)}
    args = [relax.Var(name, relax.TensorType(dims, "float32")) for name, dims in shapes.items()]
    attrs = tvm.ir.make_node(
        "relax.attrs.MultiboxTransformLocAttrs",
        clip=False,
        threshold=0.0,
        variances=variances,
        keep_background=True,
        apply_softmax=True,
    )
    op = tvm.ir.Op.get("relax.vision.multibox_transform_loc")
    with builder.function("main", args):
        builder.emit_func_output(builder.emit(relax.Call(op, args, attrs)))
    assert TRIGGERS["has_lists_of_other_lengths"](builder.get()) is holds


def kernel(func: tvm.tirx.PrimFunc) -> tvm.IRModule:
    return tvm.IRModule({"main": func})


@T.prim_func
def has_its_layout(A: T.Buffer((1,), "int32")):
    A[0] = 0


@T.prim_func
def has_no_layout(A: T.Buffer((1,), "int32", layout=None), n: T.int32):
    B = T.alloc_buffer((1,), "int32", scope="local")
    B[0] = n
    A[0] = B[0]


@pytest.mark.parametrize(("func", "holds"), [(has_its_layout, True), (has_no_layout, False)])
def test_a_parameter_of_one_element_has_its_layout(func: tvm.tirx.PrimFunc, holds: bool) -> None:
    assert TRIGGERS["prints_parameters_as_numbers"](kernel(func)) is holds


@T.prim_func
def divides_once(A: T.Buffer((8,), "int32"), n: T.int32, m: T.int32):
    A[0] = A[1] % n + A[2] // m


@T.prim_func
def divides_by_constants(A: T.Buffer((8,), "int32"), m: T.int32):
    A[0] = (A[1] % 4 + A[2] // 3) // m


@T.prim_func
def divides_by_a_remainder(A: T.Buffer((8,), "int32"), n: T.int32, m: T.int32):
    A[0] = A[1] // (A[2] % n + m)


@pytest.mark.parametrize(
    ("func", "holds"),
    [(divides_once, False), (divides_by_constants, False), (divides_by_a_remainder, True)],
)
def test_divisions_are_nested_where_one_is_in_an_operand(
    func: tvm.tirx.PrimFunc, holds: bool
) -> None:
    assert TRIGGERS["nests_divisions"](kernel(func)) is holds


@T.prim_func
def size_is_a_parameter(A: T.Buffer((8,), "float32"), n: T.int64):
    half: T.let[T.int64] = n // T.int64(2)
    B = T.alloc_buffer((n,), "float32", layout=None)
    B[half] = A[0]


@T.prim_func
def size_is_of_a_loop(A: T.Buffer((8,), "float32")):
    for i in range(8):
        B = T.alloc_buffer((i + 1,), "float32", layout=None)
        B[i] = A[i]


@T.prim_func
def size_is_of_a_thread(A: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    B = T.alloc_buffer((tx + 1,), "float32", layout=None)
    B[tx] = A[tx]


@pytest.mark.parametrize(
    ("func", "holds"),
    [(size_is_a_parameter, False), (size_is_of_a_loop, True), (size_is_of_a_thread, True)],
)
def test_a_size_is_bound_by_whatever_defines_a_variable(
    func: tvm.tirx.PrimFunc, holds: bool
) -> None:
    assert TRIGGERS["allocates_by_bound_size"](kernel(func)) is holds


@T.prim_func(s_tir=True)
def condition_of_a_loop(B: T.Buffer((2,), "int32")):
    for vx in T.thread_binding(2, thread="vthread.x"):
        for i in range(2):
            if i == 1:
                B[vx] = 1


@T.prim_func(s_tir=True)
def condition_of_a_load(B: T.Buffer((2,), "int32")):
    for vx in T.thread_binding(2, thread="vthread.x"):
        L = T.alloc_buffer((1,), "int32", scope="local", layout=None)
        M = T.alloc_buffer((1,), "int32", scope="local", layout=None)
        L[0] = vx
        M[0] = L[0] + 1
        if M[0] == 2:
            B[0] = 1


@T.prim_func(s_tir=True)
def number_of_stores(B: T.Buffer((2,), "int32")):
    for vx in T.thread_binding(2, thread="vthread.x"):
        for i in range(vx):
            B[i] = 1


@pytest.mark.parametrize(
    ("func", "holds"),
    [(condition_of_a_loop, False), (condition_of_a_load, True), (number_of_stores, True)],
)
def test_a_store_may_depend_on_a_virtual_thread_by_what_is_computed_of_it(
    func: tvm.tirx.PrimFunc, holds: bool
) -> None:
    lowered = tvm.s_tir.transform.LowerOpaqueBlock()(kernel(func))
    assert TRIGGERS["stores_by_virtual_thread"](lowered) is holds


def test_every_trigger_is_one_of_a_known() -> None:
    assert {known.trigger for known in TRIGGERED} == set(TRIGGERS)


def test_it_does_not_change_a_module() -> None:
    known = TRIGGERED[0]
    assert known.reproducer is not None
    mod = runpy.run_path(str(known.reproducer))["mod"]
    before = tvm.ir.save_json(mod)
    for trigger in TRIGGERS.values():
        trigger(mod)
    assert tvm.ir.save_json(mod) == before
